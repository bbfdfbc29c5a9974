// SPDX-License-Identifier: Apache-2.0
#include "model/layers/layer_scope.h"

#include <cmath>

#include "base/hash.h"

namespace weft {

uint64_t DropoutIds::add(const std::string& name) {
  const uint64_t id = hash64(name);
  require<InternalError>(ids_.insert(id).second, "dropout site {} declared twice", name);
  return id;
}

Init LayerScope::weight_init(int64_t in, int64_t out) const {
  switch (config.init) {
    case InitScheme::Gpt2:
      return Init::normal(config.init_std);
    case InitScheme::Xavier:
      return Init::uniform(std::sqrt(6.0 / static_cast<double>(in + out)));
  }
  throw InternalError("no such scheme of initial weights");
}

Init LayerScope::residual_init(int64_t in, int64_t out) const {
  Init init = weight_init(in, out);
  require<InternalError>(residual_branches > 0, "a residual projection outside a stack");
  if (config.init == InitScheme::Gpt2) init.spread /= std::sqrt(static_cast<double>(residual_branches));
  return init;
}

Init LayerScope::embedding_init(int64_t width) const {
  if (config.init == InitScheme::Xavier) return Init::normal(1 / std::sqrt(static_cast<double>(width)));
  return Init::normal(config.init_std);
}

}  // namespace weft
