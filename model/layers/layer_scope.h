// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "model/config.h"
#include "model/layers/lora.h"
#include "model/tensor_parallel.h"
#include "parallel/parameters/parameter.h"

namespace weft {

class RotaryTables;

// The dropout sites of a model by name. A site's id is a hash of its name, so masks depend neither on the order of
// constructors nor on the model's other sites.
class DropoutIds {
 public:
  // InternalError if the name, or one with the same hash, is taken.
  uint64_t add(const std::string& name);

 private:
  std::set<uint64_t> ids_;
};

// The state that the constructors of a model's layers share.
struct LayerScope {
  ParameterRegistry& registry;
  const TransformerConfig& config;
  DropoutIds& dropout_ids;
  const TensorParallel& shards;
  LoraSites& lora;
  const RotaryTables& rotary;
  // Branches that join the residual stream of the stack under construction: each adds to its variance.
  int64_t residual_branches = 0;

  // The id of a dropout site, named like a parameter: "decoder.3.attention.residual".
  uint64_t dropout_id(const std::string& name) const { return dropout_ids.add(name); }
  // Initial values of a product's weight, of a weight whose product joins the residual stream, of an embedding table.
  Init weight_init(int64_t in, int64_t out) const;
  Init residual_init(int64_t in, int64_t out) const;
  Init embedding_init(int64_t width) const;
};

}  // namespace weft
