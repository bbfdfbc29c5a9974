// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/digest/tensor_differences.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/json.h"
#include "kernels/transfer.h"
#include "parallel/agree.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// Adds up differences by buffer and name.
class DifferenceTable {
 public:
  void add(const TensorDifference& part) {
    const auto [at, is_new] = by_tensor_.try_emplace({part.buffer, part.name}, part);
    if (is_new) return;
    at->second.elements += part.elements;
    at->second.first = std::min(at->second.first, part.first);
  }
  std::vector<TensorDifference> list() const {
    std::vector<TensorDifference> all;
    for (const auto& [tensor, difference] : by_tensor_) all.push_back(difference);
    return all;
  }

 private:
  std::map<std::pair<std::string, std::string>, TensorDifference> by_tensor_;
};

// The boxes of an array in memory, and boxes of the same places that a checkpoint fills.
struct BoxPair {
  TensorBox here;
  TensorBox saved;
};

std::vector<BoxPair> box_pairs(Context& host, const OwnedArray& array) {
  std::vector<BoxPair> pairs;
  for (const auto& [place, data] : array.pieces) {
    int64_t at = 0;
    for (const Box& box : boxes_of(place, 0, place.elements())) {
      TensorBox here{array.buffer, place.name, place.shape, box.origin, data.flat(at, box.extent)};
      TensorBox saved = here;
      saved.data = host.empty(box.extent, array.dtype);
      pairs.push_back({std::move(here), std::move(saved)});
      at += box.extent.elements();
    }
  }
  return pairs;
}

std::vector<std::byte> downloaded(Context& context, const Tensor& data) {
  std::vector<std::byte> bytes(data.bytes());
  download_bytes(context, data, bytes);
  return bytes;
}

void compare(Context& context, Context& host, const BoxPair& pair, DifferenceTable& found) {
  const std::vector<std::byte> here = downloaded(context, pair.here.data), saved = downloaded(host, pair.saved.data);
  const size_t width = size_of(pair.here.data.dtype());
  size_t at = 0;
  for (const ElementRun& run : runs_of(pair.here.shape, {pair.here.origin, pair.here.data.shape()})) {
    for (int64_t i = 0; i < run.elements; ++i, at += width) {
      if (std::memcmp(&here[at], &saved[at], width) == 0) continue;
      found.add({.buffer = pair.here.buffer, .name = pair.here.name, .elements = 1, .first = run.index + i});
    }
  }
}

}  // namespace

std::vector<TensorDifference> differences_from(const Checkpoint& checkpoint, Context& context,
                                               std::span<const OwnedArray> owned,
                                               const std::function<void()>& on_progress) {
  DifferenceTable found;
  for (const OwnedArray& array : owned) {
    Context host;
    const std::vector<BoxPair> pairs = box_pairs(host, array);
    std::vector<TensorBox> boxes;
    for (const BoxPair& pair : pairs) boxes.push_back(pair.saved);
    checkpoint.read(host, boxes, on_progress);
    for (const BoxPair& pair : pairs) {
      compare(context, host, pair, found);
      if (on_progress) on_progress();
    }
  }
  return found.list();
}

std::vector<TensorDifference> differences_of_all(Communicator& world, const std::vector<TensorDifference>& mine) {
  Json sent = Json::array();
  for (const TensorDifference& d : mine) sent.push_back({d.buffer, d.name, d.elements, d.first});
  DifferenceTable all;
  for (const std::string& text : gather_on_rank0(world, sent.dump())) {
    for (const Json& d : parse_json<Json>(text, "a rank's differences")) {
      all.add({.buffer = d.at(0), .name = d.at(1), .elements = d.at(2), .first = d.at(3)});
    }
  }
  return all.list();
}

}  // namespace weft
