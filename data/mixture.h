#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// One of several datasets that are trained on together.
struct MixturePart {
  int64_t records = 0;  // windows, or pairs
  double weight = 1;    // its share of what is trained on, relative to the others'
};

// Which records a mixture takes, as a pure function of the epoch. An epoch of the mixture has as many records as all
// parts together; each part gives its share of them by weight, and goes through its own records again and again, one of
// its own epochs after the other: a part with a large weight is seen several times while another is seen in part.
class MixtureOrder {
 public:
  // ConfigError if a weight is not positive, or so small that its part would give no record.
  explicit MixtureOrder(std::span<const MixturePart> parts);

  struct Draw {
    size_t part = 0;
    int64_t epoch = 0;  // of the part's own
    int64_t place = 0;  // in that epoch, [0, records of the part)
  };
  size_t parts() const { return sizes_.size(); }
  int64_t records() const { return begins_.back(); }  // an epoch
  // Of each part, in the order of the parts.
  int64_t taken(size_t part) const { return begins_[part + 1] - begins_[part]; }  // an epoch
  Draw at(int64_t epoch, int64_t slot) const;                                     // slot < records()

 private:
  std::vector<int64_t> sizes_;   // records of each part
  std::vector<int64_t> begins_;  // the slots of each part: parts + 1
};

// What the i-th part draws its own order from; the first one's is that of a dataset alone.
uint64_t seed_of_part(uint64_t seed, size_t part);

}  // namespace weft
