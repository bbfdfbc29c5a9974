#include "data/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/permutation.h"

namespace weft {

// Where one part ends and the next begins is rounded, so that all together are exactly `records`.
MixtureOrder::MixtureOrder(std::span<const MixturePart> parts) : begins_{0} {
  double weights = 0;
  int64_t records = 0;
  for (const MixturePart& part : parts) {
    require<ConfigError>(part.weight > 0 && std::isfinite(part.weight), "mixture: a weight of {}; it must be above 0",
                         part.weight);
    sizes_.push_back(part.records);
    weights += part.weight;
    records += part.records;
  }
  double before = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    before += parts[i].weight;
    begins_.push_back(std::llround(before / weights * static_cast<double>(records)));
    if (taken(i) > 0) continue;
    throw ConfigError(fmt::format("mixture: a weight of {} among {} gives none of the {} records of an epoch",
                                  parts[i].weight, weights, records),
                      "raise it, or leave the dataset out");
  }
}

MixtureOrder::Draw MixtureOrder::at(int64_t epoch, int64_t slot) const {
  const auto part = static_cast<size_t>(std::ranges::upper_bound(begins_, slot) - begins_.begin()) - 1;
  const int64_t number = epoch * taken(part) + slot - begins_[part];
  return {.part = part, .epoch = number / sizes_[part], .place = number % sizes_[part]};
}

uint64_t seed_of_part(uint64_t seed, size_t part) {
  return part == 0 ? seed : derive_key(seed, DataStream::MixturePart, static_cast<int64_t>(part));
}

}  // namespace weft
