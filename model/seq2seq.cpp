#include "model/seq2seq.h"

#include <algorithm>

#include "kernels/elementwise.h"
#include "kernels/transfer.h"

namespace weft {

Seq2Seq::Seq2Seq(Context& context, Mesh& mesh, const TransformerConfig& config, const Vocabularies& vocabularies,
                 bool sequence_parallel, const LoraConfig& lora)
    : Transformer(context, mesh, config, vocabularies, sequence_parallel, lora),
      source_embedding_(layer_scope_, "encoder.embedding", vocabularies.source),
      target_embedding_(layer_scope_, "decoder.embedding", vocabularies.target,
                        config.tying == Tying::All ? source_embedding_.table() : nullptr),
      encoder_(layer_scope_, "encoder", config.encoder_layers, false, false),
      decoder_(layer_scope_, "decoder", config.layers, true, true) {
  if (config.tying != Tying::None) output_weight_ = target_embedding_.table();
  declare_output();
}

void Seq2Seq::prepare_embeddings(DType compute) {
  source_embedding_.prepare(context_, compute);
  target_embedding_.prepare(context_, compute);
}

Memory Seq2Seq::encode(ForwardContext& forward, const Tokens& tokens) {
  const Var states = encoder_(forward, source_embedding_(forward, tokens), tokens, {});
  return {shards_.copy_or_gather(forward, states, tokens), tokens};
}

Var Seq2Seq::hidden(ForwardContext& forward, const ModelBatch& batch) {
  return decoder(forward, batch.input, encode(forward, batch.source));
}

Var Seq2Seq::states(ForwardContext& forward, const Tokens& texts) { return encode(forward, texts).states; }

Var Seq2Seq::decoder(ForwardContext& forward, const Tokens& tokens, const Memory& memory) {
  return decoder_(forward, target_embedding_(forward, tokens), tokens, memory);
}

namespace {

// The rows of [sequences, longest] places; what is beyond a sequence's end is never read, and holds a copy of a row.
std::vector<int32_t> rows_by_sequence(const Offsets& offsets, int64_t longest) {
  std::vector<int32_t> rows;
  const auto last = static_cast<int32_t>(offsets.rows() - 1);
  for (int64_t s = 0; s < offsets.sequences(); ++s) {
    for (int32_t t = 0; t < longest; ++t) rows.push_back(std::min(offsets.host[s] + t, last));
  }
  return rows;
}

}  // namespace

std::unique_ptr<KeyValueCache> Seq2Seq::begin_decoding(const Tokens& source, int64_t hypotheses, int64_t slots,
                                                       int64_t capacity) {
  require<InternalError>(hypotheses == source->sequences(), "decoding {} hypotheses of {} sources", hypotheses,
                         source->sequences());
  auto cache = std::make_unique<KeyValueCache>(context_, config_.layers, hypotheses, slots, capacity, kv_width(),
                                               compute_dtype(registry_.precision()));
  Tape tape(context_, Tape::Mode::Off);
  ForwardContext forward{.tape = tape, .batch_invariant = true, .packed = &packed_weights_};
  const Memory memory = encode(forward, source);
  const Offsets& offsets = *source->offsets;
  std::vector<int32_t> lengths;
  for (int64_t s = 0; s < hypotheses; ++s) lengths.push_back(static_cast<int32_t>(offsets.length(s)));
  const int64_t longest = std::max<int64_t>(1, offsets.longest);
  const Tensor rows = to_device(context_, std::span<const int32_t>(rows_by_sequence(offsets, longest)));
  std::vector<Tensor> keys_and_values;
  for (const Block& block : decoder_.blocks()) {
    const Var kv = block.cross().keys_and_values(forward, memory);
    keys_and_values.push_back(context_.zeros({hypotheses, longest, kv->value.columns()}, kv->value.dtype()));
    if (offsets.rows() > 0) gather_rows(context_, kv->value, rows, keys_and_values.back());
  }
  cache->set_memory(std::move(keys_and_values), std::move(lengths));
  return cache;
}

}  // namespace weft
