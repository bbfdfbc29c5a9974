// SPDX-License-Identifier: Apache-2.0
#include "model/packed_tokens.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/transfer.h"

namespace weft {
namespace {

// Fills `order` with the indices of `values`, sorted by value, then by index.
void sort_by(std::span<const int32_t> values, std::span<int32_t> order) {
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int32_t i) { return values[i]; });
}

// Copies the elements of the part; padding is 0.
void copy_part(std::span<const int32_t> values, const ResidualPart& part, std::span<int32_t> out) {
  const auto all = static_cast<int64_t>(values.size());
  const int64_t begin = std::min(static_cast<int64_t>(out.size()) * part.rank, all);
  const std::span<const int32_t> mine = values.subspan(begin, std::min<int64_t>(out.size(), all - begin));
  std::ranges::fill(std::ranges::copy(mine, out.begin()).out, out.end(), 0);
}

// Lays arrays end to end. Without memory it only counts their elements, as Scratch does.
class Arrays {
 public:
  Arrays() = default;
  Arrays(std::span<int32_t> host, Tensor device) : host_(host), device_(std::move(device)) {}

  // Adds an array of `size` elements: fill(span) writes it, and `place` becomes its tensor. Returns the array, or an
  // empty span, with `place` unchanged, if elements are only counted.
  template <class Fill>
  std::span<const int32_t> add(Tensor& place, int64_t size, Fill&& fill) {
    const int64_t begin = taken_;
    taken_ += size;
    if (!device_) return {};
    place = device_.slice(begin, taken_);
    const std::span<int32_t> array = host_.subspan(begin, size);
    fill(array);
    return array;
  }
  int64_t taken() const { return taken_; }

 private:
  std::span<int32_t> host_;
  Tensor device_;
  int64_t taken_ = 0;
};

auto copy_of(std::span<const int32_t> values) {
  return [values](std::span<int32_t> out) { std::ranges::copy(values, out.begin()); };
}
auto order_of(std::span<const int32_t> values) {
  return [values](std::span<int32_t> out) { sort_by(values, out); };
}

// Calls visit(sequence, position) for the tokens in their order.
template <class Visit>
void for_each_token(const TokenInputs& inputs, Visit&& visit) {
  for (size_t s = 0; s + 1 < inputs.offsets.size(); ++s) {
    const int32_t first = inputs.first_position.empty() ? 0 : inputs.first_position[s];
    const auto id = static_cast<int32_t>(inputs.sequence_ids.empty() ? s : inputs.sequence_ids[s]);
    for (int32_t t = 0; t < inputs.offsets[s + 1] - inputs.offsets[s]; ++t) visit(id, first + t);
  }
}

void lay_out_rows(Arrays& arrays, const TokenInputs& inputs, TokenUse use, const ResidualPart& part,
                  PackedTokens& packed) {
  const auto tokens = static_cast<int64_t>(inputs.tokens.size()), mine = part.tokens(tokens);
  const bool backward = use == TokenUse::Backward;
  const auto sequence = arrays.add(packed.replicated.ids.sequence, tokens, [&](std::span<int32_t> out) {
    for_each_token(inputs, [at = out.begin()](int32_t id, int32_t) mutable { *at++ = id; });
  });
  const auto position = arrays.add(packed.replicated.ids.position, tokens, [&](std::span<int32_t> out) {
    for_each_token(inputs, [at = out.begin()](int32_t, int32_t t) mutable { *at++ = t; });
  });
  if (!position.empty()) packed.positions = *std::ranges::max_element(position) + 1;
  if (backward) arrays.add(packed.replicated.by_position, tokens, order_of(position));
  if (part.ranks == 1) {
    packed.residual = packed.replicated;
    return;
  }
  PackedTokens::Rows& residual = packed.residual;
  const auto part_of = [&](std::span<const int32_t> values) {
    return [&part, values](std::span<int32_t> out) { copy_part(values, part, out); };
  };
  arrays.add(residual.ids.sequence, mine, part_of(sequence));
  const auto residual_position = arrays.add(residual.ids.position, mine, part_of(position));
  if (backward) arrays.add(residual.by_position, mine, order_of(residual_position));
}

// Returns the offsets on the device.
Tensor lay_out(Arrays& arrays, const TokenInputs& inputs, TokenUse use, const ResidualPart& part,
               PackedTokens& packed) {
  const auto tokens = static_cast<int64_t>(inputs.tokens.size()), ends = static_cast<int64_t>(inputs.offsets.size());
  Tensor offsets;
  arrays.add(offsets, ends, copy_of(inputs.offsets));
  arrays.add(packed.tokens, tokens, copy_of(inputs.tokens));
  arrays.add(packed.last, ends - 1, [&](std::span<int32_t> out) {
    std::ranges::transform(inputs.offsets.subspan(1), out.begin(), [](int32_t end) { return end - 1; });
  });
  if (use == TokenUse::Backward) arrays.add(packed.by_token, tokens, order_of(inputs.tokens));
  lay_out_rows(arrays, inputs, use, part, packed);
  return offsets;
}

}  // namespace

TokenPacking::TokenPacking(const TokenInputs& inputs, TokenUse use, const ResidualPart& part)
    : inputs_(inputs), use_(use), part_(part) {
  const auto sequences = static_cast<int64_t>(inputs.offsets.size()) - 1;
  require<InternalError>(sequences >= 0 && static_cast<int64_t>(inputs.tokens.size()) == inputs.offsets.back(),
                         "{} tokens, but the offsets end at {}", inputs.tokens.size(),
                         sequences >= 0 ? inputs.offsets.back() : -1);
  require<InternalError>(inputs.sequence_ids.empty() || static_cast<int64_t>(inputs.sequence_ids.size()) == sequences,
                         "{} sequence ids for {} sequences", inputs.sequence_ids.size(), sequences);
  Arrays counted;
  PackedTokens unused;
  lay_out(counted, inputs_, use_, part_, unused);
  elements_ = counted.taken();
}

Tokens TokenPacking::pack(std::span<int32_t> host, const Tensor& device) const {
  Arrays arrays(host, device);
  auto packed = std::make_shared<PackedTokens>();
  const Tensor offsets = lay_out(arrays, inputs_, use_, part_, *packed);
  packed->offsets = share_offsets(inputs_.offsets, offsets);
  return packed;
}

Tokens pack_tokens(Context& context, const TokenInputs& inputs, TokenUse use, const ResidualPart& part) {
  const TokenPacking packing(inputs, use, part);
  std::vector<int32_t> host(static_cast<size_t>(packing.elements()));
  const Tensor device = context.empty({packing.elements()}, DType::I32);
  Tokens tokens = packing.pack(host, device);
  upload(context, std::span<const int32_t>(host), device);
  return tokens;
}

}  // namespace weft
