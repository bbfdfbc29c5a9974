// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/rules/update_rule.h"

namespace weft {

std::unique_ptr<const UpdateRule> make_update_rule(const OptimizerConfig& config) {
  using MakeRule = std::unique_ptr<const UpdateRule> (*)(const OptimizerConfig&);
  constexpr EnumTable<OptimizerKind, MakeRule> kRules = {
      {OptimizerKind::AdamW, make_adamw}, {OptimizerKind::Adam, make_adam}, {OptimizerKind::Sgd, make_sgd}};
  return kRules[config.kind](config);
}

}  // namespace weft
