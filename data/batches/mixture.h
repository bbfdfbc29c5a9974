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
  double weight = 1;    // its share of the training, relative to the others'
};

// Which records a mixture takes, as a pure function of epoch and slot. An epoch of the mixture has as many records as
// all parts together; each part gives its share of them by weight, and goes through its own records again and again,
// one of its own epochs after the other: a part with a large weight is seen several times while another is seen in
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
    int64_t place = 0;  // in that epoch, [0, records of the part)
  };
  size_t parts() const { return sizes_.size(); }
  int64_t records() const { return nodes_.back().taken; }          // an epoch
  int64_t records(size_t part) const { return sizes_[part]; }      // that the part has
  int64_t taken(size_t part) const { return nodes_[part].taken; }  // that an epoch takes of it
  Draw at(int64_t epoch, int64_t slot) const;                      // slot < records()
  std::string text() const;  // " of 3 datasets mixed by weight", for order_text(); empty of one
  // Passes over the part in this many epochs of the mixture.
  double epochs_of(size_t part, double epochs) const;

 private:
  struct Node {
    int64_t taken = 0;
    size_t left = 0, right = 0;  // of inner nodes: their children, which come before them
  };
  std::vector<int64_t> sizes_;  // records of each part
  std::vector<Node> nodes_;     // the parts, then inner nodes; the last one is the root
};

// The seed of the i-th part's own order; the first part's is that of a dataset alone.
uint64_t seed_of_part(uint64_t seed, size_t part);

}  // namespace weft
