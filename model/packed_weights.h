// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "kernels/ops/linear.h"
#include "parallel/parameters/parameter.h"

namespace weft {

// The packed weights of a model (kernels/ops/linear.h): one for each parameter that a batch-invariant product reads,
// made when first asked for, and kept until the model's weights change. They are looked up in every pass by the
// registry's weights_version(), so that a model that trains and writes in turn never reads an old one; and a forward
// pass that records for a backward drops them, since a training step needs the memory.
class PackedWeights {
 public:
  explicit PackedWeights(const ParameterRegistry& registry) : registry_(registry) {}
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // WeightFormat::Own is the model's compute dtype.
  void set_format(WeightFormat format);
  WeightFormat format() const { return format_; }
  // Returns the packed form of a parameter's value, or of its first rows.
  PackedWeight of(const Tensor& weight);
  void drop() { packed_.clear(); }
  size_t bytes() const;

 private:
  const ParameterRegistry& registry_;
  WeightFormat format_ = WeightFormat::Own;
  uint64_t version_ = 0;
  std::map<std::pair<const void*, int64_t>, PackedWeight> packed_;  // by Tensor::place() and elements
};

}  // namespace weft
