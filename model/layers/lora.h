// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/step_state.h"
#include "model/layers/lora_config.h"
#include "model/packed_tokens.h"
#include "model/tape.h"

namespace weft {

struct ForwardContext;
struct LayerScope;
class TensorParallel;

// The suffixes of an adapter's two matrices after the product's name: NAME.lora_a [rank, in], NAME.lora_b [..., rank].
inline constexpr std::string_view kLoraA = ".lora_a", kLoraB = ".lora_b";
inline bool is_adapter(std::string_view parameter) {
  return parameter.ends_with(kLoraA) || parameter.ends_with(kLoraB);
}

// Decides which products of a model get an adapter.
class LoraSites {
 public:
  explicit LoraSites(const LoraConfig& config) : config_(config) {}
  const LoraConfig& config() const { return config_; }
  // Returns whether `product` gets an adapter; called once for each product of the model.
  bool adapts(const std::string& product);
  // ConfigError if a target matches no product that adapts() was called for.
  void check() const;

 private:
  LoraConfig config_;
  std::vector<std::string> products_;
};

// The low-rank adapter of one product. Tensor parallelism divides B as it divides the outputs and A as it divides the
// inputs: a rank's adapter adds to the same partial sum or the same columns as its product, so adapters need no
// collective of their own. The matrix that tp replicates gets a part of its gradient on every rank.
class Lora {
 public:
  struct Options {
    std::string name;     // the product's name
    Shape weight;         // global, its last dim the input's width
    Placement placement;  // the weight's placement
  };
  Lora(LayerScope& scope, const Options& options);

  // One use's part of forward, kept for its backward.
  struct Use {
    const Lora* lora = nullptr;  // null: there is no adapter
    ParameterUse a, b;
    Tensor x, hidden;  // the input as given, and (alpha / rank) dropout(x) A^T
    Dropout dropout;

    // Computes dx (+)= (alpha / rank) dropout'(dy B A) and the gradients of A and B. `dx` may be absent. No-op without
    // an adapter.
    void backward(Context& context, const Tensor& dy, const Gradient& dx) const;
  };
  // y += (alpha / rank) (dropout(x) A^T) B^T; y has the compute or the accumulator dtype, `tokens` are the rows of x.
  Use add(ForwardContext& forward, const Tensor& x, const Tokens& tokens, const Tensor& y) const;

 private:
  const Parameter *a_, *b_;
  const TensorParallel& shards_;
  bool divides_inputs_, sees_residual_tokens_;
  double scale_, dropout_;
  uint64_t dropout_id_;
};

}  // namespace weft
