#include "model/packed_tokens.h"

#include <algorithm>

namespace weft {

PackedTokens pack_tokens(Context& context, std::span<const int32_t> tokens, std::span<const int32_t> offsets,
                         std::span<const int64_t> sequence_ids, std::span<const int32_t> first_position) {
  PackedTokens packed;
  packed.offsets.assign(offsets.begin(), offsets.end());
  const int64_t n = packed.count(), sequences = packed.sequences();
  require<InternalError>(static_cast<int64_t>(tokens.size()) == n, "{} tokens, but the offsets end at {}",
                         tokens.size(), n);
  require<InternalError>(sequence_ids.empty() || static_cast<int64_t>(sequence_ids.size()) == sequences,
                         "{} sequence ids for {} sequences", sequence_ids.size(), sequences);
  packed.tokens = context.empty({n}, DType::I32);
  packed.ids = {context.empty({n}, DType::I32), context.empty({n}, DType::I32)};
  packed.residual_ids = packed.ids;
  if (context.meta()) return packed;
  std::ranges::copy(tokens, packed.tokens.data<int32_t>());
  auto* sequence = packed.ids.sequence.data<int32_t>();
  auto* position = packed.ids.position.data<int32_t>();
  for (int64_t s = 0; s < sequences; ++s) {
    const int32_t first = first_position.empty() ? 0 : first_position[s];
    const auto id = static_cast<int32_t>(sequence_ids.empty() ? s : sequence_ids[s]);
    for (int32_t t = offsets[s]; t < offsets[s + 1]; ++t) sequence[t] = id, position[t] = first + t - offsets[s];
  }
  return packed;
}

}  // namespace weft
