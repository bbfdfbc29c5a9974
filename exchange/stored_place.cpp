// SPDX-License-Identifier: Apache-2.0
#include "exchange/stored_place.h"

#include <algorithm>

namespace weft {
namespace {

int64_t count_rows(const StoredPlace& place) {
  int64_t rows = 0;
  for (const RowBlocks& r : place.rows) rows += r.groups * r.count * r.height;
  return rows;
}

// Calls pair(ours, theirs) with the places of each element.
template <class Pair>
void for_each_element(const StoredPlace& place, Pair&& pair) {
  const int64_t rows = count_rows(place);
  int64_t theirs = 0;
  for (const RowBlocks& r : place.rows) {
    for (int64_t group = 0; group < r.groups; ++group) {
      const int64_t first = (group * r.blocks + r.first) * r.height;
      for (int64_t row = first; row < first + r.count * r.height; ++row, ++theirs) {
        for (int64_t i = 0; i < place.columns; ++i) {
          pair(row * place.columns + i, place.transposed ? i * rows + theirs : theirs * place.columns + i);
        }
      }
    }
  }
}

}  // namespace

StoredPlace StoredPlace::of(std::string name, const Shape& parameter, std::vector<RowBlocks> rows, bool transposed) {
  const bool bias = name.ends_with(".bias");
  StoredPlace place{.name = std::move(name),
                    .columns = bias ? 1 : parameter[-1],
                    .rows = std::move(rows),
                    .transposed = transposed && !bias};
  const int64_t n = count_rows(place);
  place.shape = bias ? Shape{n} : transposed ? Shape{place.columns, n} : Shape{n, place.columns};
  return place;
}

StoredPlace StoredPlace::upright() const {
  StoredPlace place = *this;
  if (transposed) std::swap(place.shape[0], place.shape[1]);
  place.transposed = false;
  return place;
}

void to_stored(const StoredPlace& place, std::span<const float> ours, std::span<float> theirs) {
  if (place.rows.empty()) return static_cast<void>(std::ranges::copy(ours, theirs.begin()));
  for_each_element(place, [&](int64_t our, int64_t their) { theirs[their] = ours[our]; });
}

void from_stored(const StoredPlace& place, std::span<const float> theirs, std::span<float> ours) {
  if (place.rows.empty()) return static_cast<void>(std::ranges::copy(theirs, ours.begin()));
  for_each_element(place, [&](int64_t our, int64_t their) { ours[our] = theirs[their]; });
}

}  // namespace weft
