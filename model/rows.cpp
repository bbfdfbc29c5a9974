#include "model/rows.h"

#include <algorithm>

namespace weft {

Rows make_rows(Context& context, std::span<const int32_t> tokens, std::span<const int32_t> offsets,
               std::span<const int64_t> samples, std::span<const int32_t> first_position) {
  Rows rows;
  rows.offsets.assign(offsets.begin(), offsets.end());
  const int64_t n = rows.count(), sequences = rows.sequences();
  require<InternalError>(static_cast<int64_t>(tokens.size()) == n, "{} tokens for {} rows", tokens.size(), n);
  require<InternalError>(samples.empty() || static_cast<int64_t>(samples.size()) == sequences,
                         "{} sample ids for {} sequences", samples.size(), sequences);
  rows.tokens = context.empty({n}, DType::I32);
  rows.ids = {context.empty({n}, DType::I32), context.empty({n}, DType::I32)};
  rows.stream = rows.ids;
  if (context.meta()) return rows;
  std::ranges::copy(tokens, rows.tokens.data<int32_t>());
  auto* sample = rows.ids.sample.data<int32_t>();
  auto* position = rows.ids.position.data<int32_t>();
  for (int64_t s = 0; s < sequences; ++s) {
    const int32_t first = first_position.empty() ? 0 : first_position[s];
    const auto id = static_cast<int32_t>(samples.empty() ? s : samples[s]);
    for (int32_t r = offsets[s]; r < offsets[s + 1]; ++r) sample[r] = id, position[r] = first + r - offsets[s];
  }
  return rows;
}

}  // namespace weft
