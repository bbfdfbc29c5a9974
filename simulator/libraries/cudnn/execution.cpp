// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/cudnn/execution.h"

#include <set>

namespace weft::cuda_device {
namespace {

constexpr int64_t kWorkspaceAlignment = 16;

using Tensors = std::map<int64_t, const Descriptor*>;  // those in memory, by the program's number

void find_tensors(const Descriptor& in, Tensors& found, std::set<const Descriptor*>& seen) {
  if (!seen.insert(&in).second) return;
  if (in.type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && in.number(CUDNN_ATTR_TENSOR_IS_VIRTUAL) == 0 &&
      in.number(CUDNN_ATTR_TENSOR_IS_BY_VALUE) == 0)
    found[in.number(CUDNN_ATTR_TENSOR_UNIQUE_ID)] = &in;
  for (const auto& [name, value] : in.values)
    for (const auto& object : value.objects)
      if (object) find_tensors(*object, found, seen);
}

int64_t bytes_of_element(int64_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_BFLOAT16:
    case CUDNN_DATA_HALF:
      return 2;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    default:
      refuse("cuDNN: tensors of type " + std::to_string(type) + " are not simulated");
  }
}

int64_t bytes_of(const Descriptor& tensor) {
  const std::vector<int64_t> lengths = tensor.numbers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const std::vector<int64_t> strides = tensor.numbers(CUDNN_ATTR_TENSOR_STRIDES);
  int64_t last = 0;
  for (size_t k = 0; k < lengths.size(); ++k) last += (lengths[k] - 1) * strides[k];
  return (last + 1) * bytes_of_element(tensor.number(CUDNN_ATTR_TENSOR_DATA_TYPE));
}

std::string broken(const Simulator& all, const std::string& what, const void* pointer, int64_t bytes,
                   int64_t alignment) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (address % static_cast<uint64_t>(alignment) != 0)
    return what + " does not begin at a multiple of " + std::to_string(alignment) + " bytes, as promised";
  const Allocation* memory = all.memory.find(address);
  if (!memory || memory->freed) return what + " is in no memory of a device";
  const auto end = address + static_cast<uint64_t>(bytes);
  if (end <= memory->address + memory->bytes) return {};
  return what + ": " + std::to_string(bytes) + " bytes reach " + std::to_string(end - memory->address - memory->bytes) +
         " past the end of their memory";
}

}  // namespace

std::string broken_promise(const Simulator& all, const Descriptor& plan, const Descriptor& pack, int64_t workspace) {
  Tensors tensors;
  std::set<const Descriptor*> seen;
  find_tensors(plan, tensors, seen);
  const std::vector<int64_t> numbers = pack.numbers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const std::vector<void*> pointers = pack.pointers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t k = 0; k < numbers.size(); ++k) {
    const auto found = tensors.find(numbers[k]);
    if (found == tensors.end()) continue;  // passed by value
    const Descriptor& tensor = *found->second;
    const std::string what = "tensor " + std::to_string(numbers[k]);
    if (std::string said =
            broken(all, what, pointers.at(k), bytes_of(tensor), tensor.number(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1));
        !said.empty())
      return said;
    tensors.erase(found);
  }
  if (!tensors.empty()) return "tensor " + std::to_string(tensors.begin()->first) + " has no pointer";
  const std::vector<void*> room = pack.pointers(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  return workspace > 0
             ? broken(all, "the workspace", room.empty() ? nullptr : room.front(), workspace, kWorkspaceAlignment)
             : std::string();
}

}  // namespace weft::cuda_device
