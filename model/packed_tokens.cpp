#include "model/packed_tokens.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/transfer.h"

namespace weft {
namespace {

using Ints = std::vector<int32_t>;

// The indices of values, sorted by value, then by index.
Ints sorted_by(std::span<const int32_t> values) {
  Ints order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int32_t i) { return values[i]; });
  return order;
}

struct HostRows {
  Ints sequence, position;
};

HostRows rows_of(const TokenInputs& inputs) {
  HostRows rows;
  for (size_t s = 0; s + 1 < inputs.offsets.size(); ++s) {
    const int32_t first = inputs.first_position.empty() ? 0 : inputs.first_position[s];
    const auto id = static_cast<int32_t>(inputs.sequence_ids.empty() ? s : inputs.sequence_ids[s]);
    for (int32_t t = 0; t < inputs.offsets[s + 1] - inputs.offsets[s]; ++t) {
      rows.sequence.push_back(id), rows.position.push_back(first + t);
    }
  }
  return rows;
}

// The part's rows; padding has sequence and position 0.
Ints part_of(const Ints& values, const ResidualPart& part) {
  const auto all = static_cast<int64_t>(values.size()), n = part.tokens(all);
  const int64_t begin = std::min(n * part.rank, all), end = std::min(begin + n, all);
  Ints mine(values.begin() + begin, values.begin() + end);
  mine.resize(static_cast<size_t>(n), 0);
  return mine;
}

// Arrays that go to the device in one message.
class Message {
 public:
  void add(Tensor& place, const Ints& values) {
    places_.push_back({&place, static_cast<int64_t>(all_.size()), static_cast<int64_t>(values.size())});
    all_.insert(all_.end(), values.begin(), values.end());
  }
  void send(Context& context) {
    const Tensor device = to_device(context, std::span<const int32_t>(all_));
    for (const Place& p : places_) *p.tensor = device.slice(p.begin, p.begin + p.size);
  }

 private:
  struct Place {
    Tensor* tensor;
    int64_t begin, size;
  };
  Ints all_;
  std::vector<Place> places_;
};

}  // namespace

Tokens pack_tokens(Context& context, const TokenInputs& inputs, TokenUse use, const ResidualPart& part) {
  const auto sequences = static_cast<int64_t>(inputs.offsets.size()) - 1;
  require<InternalError>(sequences >= 0 && static_cast<int64_t>(inputs.tokens.size()) == inputs.offsets.back(),
                         "{} tokens, but the offsets end at {}", inputs.tokens.size(),
                         sequences >= 0 ? inputs.offsets.back() : -1);
  require<InternalError>(inputs.sequence_ids.empty() || static_cast<int64_t>(inputs.sequence_ids.size()) == sequences,
                         "{} sequence ids for {} sequences", inputs.sequence_ids.size(), sequences);
  auto packed = std::make_shared<PackedTokens>();
  const HostRows rows = rows_of(inputs);
  if (!rows.position.empty()) packed->positions = *std::ranges::max_element(rows.position) + 1;
  Message message;
  Tensor offsets;
  message.add(offsets, {inputs.offsets.begin(), inputs.offsets.end()});
  message.add(packed->tokens, {inputs.tokens.begin(), inputs.tokens.end()});
  Ints last;
  for (int64_t s = 0; s < sequences; ++s) last.push_back(inputs.offsets[s + 1] - 1);
  message.add(packed->last, last);
  message.add(packed->replicated.ids.sequence, rows.sequence);
  message.add(packed->replicated.ids.position, rows.position);
  const bool backward = use == TokenUse::Backward, divided = part.ranks > 1;
  if (backward) message.add(packed->by_token, sorted_by(inputs.tokens));
  if (backward) message.add(packed->replicated.by_position, sorted_by(rows.position));
  if (divided) {
    const Ints position = part_of(rows.position, part);
    message.add(packed->residual.ids.sequence, part_of(rows.sequence, part));
    message.add(packed->residual.ids.position, position);
    if (backward) message.add(packed->residual.by_position, sorted_by(position));
  }
  message.send(context);
  if (!divided) packed->residual = packed->replicated;
  packed->offsets = share_offsets(inputs.offsets, offsets);
  return packed;
}

}  // namespace weft
