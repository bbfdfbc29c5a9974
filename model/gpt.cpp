// SPDX-License-Identifier: Apache-2.0
#include "model/gpt.h"

namespace weft {

Gpt::Gpt(Context& context, Mesh& mesh, const TransformerConfig& config, const Vocabularies& vocabularies,
         bool sequence_parallel, const LoraConfig& lora)
    : Transformer(context, mesh, config, vocabularies, sequence_parallel, lora),
      embedding_(layer_scope_, "decoder.embedding", vocabularies.target),
      stack_(layer_scope_, "decoder", config.layers, true, false) {
  if (config.tying != Tying::None) output_weight_ = embedding_.table();
  declare_output();
}

Var Gpt::hidden(ForwardContext& forward, const ModelBatch& batch) { return decoder(forward, batch.input, {}); }

Var Gpt::states(ForwardContext& forward, const Tokens& texts) { return decoder(forward, texts, {}); }

Var Gpt::decoder(ForwardContext& forward, const Tokens& tokens, const Memory&) {
  return stack_(forward, embedding_(forward, tokens), tokens, {});
}

void Gpt::admit(KeyValueCache& cache, const Tokens&, int64_t hypotheses) { cache.add_rows(hypotheses); }

}  // namespace weft
