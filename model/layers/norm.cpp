// SPDX-License-Identifier: Apache-2.0
#include "model/layers/norm.h"

namespace weft {

Norm::Norm(LayerScope& scope, const std::string& name, AxisSet partial_over)
    : gamma_(&scope.registry.add({.name = name + ".weight",
                                  .shape = {scope.config.width},
                                  .init = Init::ones(),
                                  .partial_over = partial_over})),
      kind_(scope.config.norm_kind),
      epsilon_(scope.config.norm_epsilon) {
  if (!scope.config.norm_bias) return;
  beta_ = &scope.registry.add({.name = name + ".bias", .shape = {scope.config.width}, .partial_over = partial_over});
}

}  // namespace weft
