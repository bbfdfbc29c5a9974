// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/cudnn/descriptor.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace weft::cuda_device {
namespace {

size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_FRACTION:
      return 8;
    default:  // numbers of 32 bits and enums
      return 4;
  }
}

std::map<cudnnBackendDescriptor_t, std::shared_ptr<Descriptor>>& all() {
  static auto* const of_program = new std::map<cudnnBackendDescriptor_t, std::shared_ptr<Descriptor>>;
  return *of_program;
}

template <class T>
std::vector<T> elements_of(const Descriptor::Value& value) {
  std::vector<T> elements(value.bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), value.bytes.data(), elements.size() * sizeof(T));
  return elements;
}

}  // namespace

std::vector<int64_t> Descriptor::numbers(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  if (found == values.end()) return {};
  if (bytes_of(found->second.type) == 8) return elements_of<int64_t>(found->second);
  if (bytes_of(found->second.type) == 1) {
    const auto small = elements_of<uint8_t>(found->second);
    return {small.begin(), small.end()};
  }
  const auto small = elements_of<int32_t>(found->second);
  return {small.begin(), small.end()};
}

int64_t Descriptor::number(cudnnBackendAttributeName_t name, int64_t otherwise) const {
  const std::vector<int64_t> found = numbers(name);
  return found.empty() ? otherwise : found.front();
}

std::vector<void*> Descriptor::pointers(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  return found == values.end() ? std::vector<void*>() : elements_of<void*>(found->second);
}

std::shared_ptr<Descriptor> Descriptor::object(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  return found == values.end() || found->second.objects.empty() ? nullptr : found->second.objects.front();
}

cudnnBackendDescriptor_t keep(std::shared_ptr<Descriptor> descriptor) {
  cudnnBackendDescriptor_t name = descriptor.get();
  all()[name] = std::move(descriptor);
  return name;
}

std::shared_ptr<Descriptor> kept(cudnnBackendDescriptor_t descriptor) {
  const auto found = all().find(descriptor);
  return found == all().end() ? nullptr : found->second;
}

void drop(cudnnBackendDescriptor_t descriptor) { all().erase(descriptor); }

Descriptor::Value value_of(cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  Descriptor::Value value{.type = type, .count = count, .bytes = {}, .objects = {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (auto* const one : std::span(static_cast<const cudnnBackendDescriptor_t*>(elements), size_t(count)))
      value.objects.push_back(kept(one));
    return value;
  }
  value.bytes.resize(size_t(count) * bytes_of(type));
  if (!value.bytes.empty()) std::memcpy(value.bytes.data(), elements, value.bytes.size());
  return value;
}

void copy_out(const Descriptor::Value& value, int64_t most, int64_t* count, void* elements) {
  if (count) *count = value.count;
  if (!elements) return;
  const auto copied = size_t(std::min(most, value.count));
  if (value.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (copied > 0) std::memcpy(elements, value.bytes.data(), copied * bytes_of(value.type));
    return;
  }
  for (size_t k = 0; k < copied; ++k) *kept(static_cast<cudnnBackendDescriptor_t*>(elements)[k]) = *value.objects[k];
}

}  // namespace weft::cuda_device
