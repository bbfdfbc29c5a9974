// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config/fields.h"
#include "base/enum_table.h"

namespace weft {

enum class OptimizerKind : uint8_t { AdamW, Adam, Sgd };
template <>
struct EnumNames<OptimizerKind> {
  static constexpr auto kNames = enum_names<OptimizerKind>("adamw", "adam", "sgd");
};

// The keys of the section that each kind reads. Every kind reads weight_decay and groups besides.
inline constexpr auto kAdamKeys = std::to_array<std::string_view>({"beta1", "beta2", "epsilon"});
inline constexpr auto kSgdKeys = std::to_array<std::string_view>({"momentum"});
inline constexpr EnumTable<OptimizerKind, std::span<const std::string_view>> kOptimizerKeys = {
    {OptimizerKind::AdamW, kAdamKeys}, {OptimizerKind::Adam, kAdamKeys}, {OptimizerKind::Sgd, kSgdKeys}};

// Parameters with a learning rate or a weight decay of their own.
struct ParameterGroup {
  std::vector<std::string> match;
  double learning_rate_scale = 1;
  std::optional<double> weight_decay;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("match", match, "Patterns over parameter names, as in train.freeze.");
    v.field("learning_rate_scale", learning_rate_scale, "The schedule's learning rate is multiplied by it.",
            Range{.min = 1e-9, .max = 1e6});
    v.field("weight_decay", weight_decay,
            "Instead of optimizer.weight_decay; biases and norms do not decay here either. null means the same.",
            Range{.min = 0, .max = 10});
  }
};

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::AdamW;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  std::vector<ParameterGroup> groups;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("kind", kind, "adamw: decay apart from the gradient; adam: decay added to it (L2); sgd: with momentum.");
    v.field("beta1", beta1, "Decay of the first moment (adamw, adam).", Range{.min = 0, .max = 0.999999});
    v.field("beta2", beta2, "Decay of the second moment (adamw, adam).", Range{.min = 0, .max = 0.9999999});
    v.field("epsilon", epsilon, "Added to the root of the second moment (adamw, adam).", Range{.min = 1e-20, .max = 1});
    v.field("weight_decay", weight_decay, "Decay of matrices and embeddings; biases and norms do not decay.",
            Range{.min = 0, .max = 10});
    v.field("momentum", momentum, "Momentum (sgd).", Range{.min = 0, .max = 0.999999});
    v.field("groups", groups,
            "Parameters with a learning rate or a weight decay of their own; of several that match one, the last "
            "counts.");
  }
};

// Keys that are set although the kind does not read them, each as "optimizer.key: what is wrong; what to change".
std::vector<std::string> optimizer_problems(const OptimizerConfig& optimizer);

}  // namespace weft
