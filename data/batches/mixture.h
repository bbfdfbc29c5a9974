// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

// One of several datasets that are trained on together.
struct MixturePart {
  int64_t records = 0;  // windows, or pairs
  double weight = 1;    // share of the training, relative to the other weights
};

// The records that a mixture takes, as a pure function of epoch and slot. An epoch of the mixture has as many records
// as all parts together. Each part gives a share of them by weight and goes through its own records repeatedly, one of
// its own epochs after the other: a part with a large weight is seen several times while another is seen only in
// part.
//
// The slots are dealt evenly: of the first n of an epoch a part has its share of n to within 2 records (two parts: half
// a record). Each node of a Huffman tree deals to its two children by rounding, so that a child's error is half a
// record and its share of the error above it, and no inner node has more than 2/3 of what is dealt above it. A look-up
// is O(depth), and nothing is stored for a record.
class MixtureOrder {
 public:
  // ConfigError if a weight is not positive, or so small that its part would give no record.
  explicit MixtureOrder(std::span<const MixturePart> parts);

  struct Draw {
    size_t part = 0;
    int64_t epoch = 0;  // the part's own epoch
    int64_t place = 0;  // place in that epoch, [0, records of the part)
  };
  size_t parts() const { return sizes_.size(); }
  int64_t records() const { return nodes_.back().taken; }          // records of an epoch
  int64_t records(size_t part) const { return sizes_[part]; }      // records of the part
  int64_t taken(size_t part) const { return nodes_[part].taken; }  // records of the part in one epoch
  Draw at(int64_t epoch, int64_t slot) const;                      // slot < records()
  std::string text() const;  // " of 3 datasets mixed by weight", for order_text(); empty for one dataset
  // Passes over the part in `epochs` epochs of the mixture.
  double epochs_of(size_t part, double epochs) const;

 private:
  struct Node {
    int64_t taken = 0;
    size_t left = 0, right = 0;  // children of an inner node, which come before it
  };
  std::vector<int64_t> sizes_;  // records of each part
  std::vector<Node> nodes_;     // the parts, then inner nodes; the last one is the root
};

// The seed of a part's order. The first part uses `seed` itself, as a dataset alone does.
uint64_t seed_of_part(uint64_t seed, size_t part);

}  // namespace weft
