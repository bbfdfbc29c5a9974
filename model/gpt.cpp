#include "model/gpt.h"

namespace weft {

Gpt::Gpt(Context& context, Mesh& mesh, const TransformerConfig& config, const Vocabularies& vocabularies,
         bool sequence_parallel)
    : Transformer(context, mesh, config, vocabularies, sequence_parallel),
      embedding_(builder_, "decoder.embedding", vocabularies.target),
      stack_(builder_, "decoder", config.layers, true, false) {
  if (config.tying != Tying::None) output_weight_ = &embedding_.table();
  declare_output();
}

Var Gpt::hidden(Pass& pass, const ModelBatch& batch) { return decoder(pass, batch.input, nullptr, {}); }

Var Gpt::decoder(Pass& pass, const Rows& full, const Var&, const Rows&) {
  const Rows rows = shards_.place(pass, full);
  return stack_(pass, embedding_(pass, rows), rows, nullptr, {});
}

std::unique_ptr<KeyValueCache> Gpt::begin_decoding(const Rows&, int64_t rows, int64_t slots, int64_t capacity) {
  return std::make_unique<KeyValueCache>(context_, config_.layers, rows, slots, capacity, kv_width(),
                                         compute_dtype(registry_.precision()));
}

}  // namespace weft
