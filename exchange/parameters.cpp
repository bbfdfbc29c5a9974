// SPDX-License-Identifier: Apache-2.0
#include "exchange/parameters.h"

namespace weft {

std::vector<std::pair<std::string, Shape>> parameters_of(const ModelSpec& spec) {
  Context context;
  Mesh mesh = Mesh::single();
  std::vector<std::pair<std::string, Shape>> parameters;
  const auto made = make_model(context, mesh, spec);
  for (const auto& p : made->parameters().parameters()) parameters.emplace_back(p->spec().name, p->spec().shape);
  return parameters;
}

}  // namespace weft
