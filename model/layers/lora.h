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

// The names of an adapter's two matrices behind that of its product: NAME.lora_a [rank, in], NAME.lora_b [..., rank].
inline constexpr std::string_view kLoraA = ".lora_a", kLoraB = ".lora_b";
inline bool is_adapter(std::string_view parameter) {
  return parameter.ends_with(kLoraA) || parameter.ends_with(kLoraB);
}

// Decides which products of a model get an adapter.
class LoraSites {
 public:
  explicit LoraSites(const LoraConfig& config) : config_(config) {}
  const LoraConfig& config() const { return config_; }
  // Every product asks once, by name.
  bool adapts(const std::string& product);
  // ConfigError if a target names none of those that have asked.
  void check() const;

 private:
  LoraConfig config_;
  std::vector<std::string> products_;
};

// What low-rank adaptation adds to one product. Under tensor parallelism B is divided as the outputs are and A as the
// inputs are; what a rank adds is its part of the same sum or its share of the same columns as the product's own, so
// adapters need no collective. The matrix that tp replicates sees a part of its gradient on every rank.
class Lora {
 public:
  struct Options {
    std::string name;     // the product's
    Shape weight;         // global, its last dim the input's width
    Placement placement;  // the weight's
  };
  Lora(LayerScope& scope, const Options& options);

  // One use's part of forward, kept for its backward.
  struct Use {
    const Lora* lora = nullptr;  // null: there is no adapter
    ParameterUse a, b;
    Tensor x, hidden;  // the input as given, and (alpha / rank) dropout(x) A^T
    Dropout dropout;

    // Nothing without an adapter. dx (+)= (alpha / rank) dropout'(dy B A), and the gradients of A and B. `dx` may be
    // absent.
    void backward(Context& context, const Tensor& dy, const Gradient& dx) const;
  };
  // y += (alpha / rank) (dropout(x) A^T) B^T; y of the compute or of the accumulator dtype. `tokens` are x's.
  Use add(ForwardContext& forward, const Tensor& x, const Tokens& tokens, const Tensor& y) const;

 private:
  const Parameter *a_, *b_;
  const TensorParallel& shards_;
  bool divides_inputs_, sees_residual_tokens_;
  double scale_, dropout_;
  uint64_t dropout_id_;
};

}  // namespace weft
