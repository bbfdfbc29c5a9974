// SPDX-License-Identifier: Apache-2.0
#include "model/gpt.h"

namespace weft {

Gpt::Gpt(Context& context, Mesh& mesh, const ModelSpec& spec)
    : Transformer(context, mesh, spec),
      embedding_(layer_scope_, "decoder.embedding", spec.vocabularies.target),
      decoder_(layer_scope_, {.name = "decoder", .layers = spec.config.layers, .causal = true}) {
  declare_output(spec.config.tying == Tying::None ? nullptr : embedding_.table());
}

Var Gpt::hidden(ForwardContext& forward, const ModelBatch& batch) { return decoder(forward, batch.input, {}); }

Var Gpt::states(ForwardContext& forward, const Tokens& texts) { return decoder(forward, texts, {}); }

Var Gpt::decoder(ForwardContext& forward, const Tokens& tokens, const Memory&) {
  return decoder_(forward, embedding_(forward, tokens), tokens, {});
}

void Gpt::admit(KeyValueCache& cache, const Tokens&, int64_t hypotheses) { cache.add_rows(hypotheses); }

}  // namespace weft
