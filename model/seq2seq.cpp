#include "model/seq2seq.h"

#include <algorithm>

#include "kernels/plain.h"

namespace weft {

Seq2Seq::Seq2Seq(Context& context, Mesh& mesh, const TransformerConfig& config, const Vocabularies& vocabularies,
                 bool sequence_parallel)
    : Transformer(context, mesh, config, vocabularies, sequence_parallel),
      source_embedding_(layer_scope_, "encoder.embedding", vocabularies.source),
      target_embedding_(layer_scope_, "decoder.embedding", vocabularies.target,
                        config.tying == Tying::All ? &source_embedding_.table() : nullptr),
      encoder_(layer_scope_, "encoder", config.encoder_layers, false, false),
      decoder_(layer_scope_, "decoder", config.layers, true, true) {
  if (config.tying != Tying::None) output_weight_ = &target_embedding_.table();
  declare_output();
}

void Seq2Seq::prepare_embeddings(DType compute) {
  source_embedding_.prepare(context_, compute);
  target_embedding_.prepare(context_, compute);
}

Var Seq2Seq::encode(ForwardContext& forward, const Rows& source) {
  const Rows rows = shards_.place(forward, source);
  return shards_.enter(forward, encoder_(forward, source_embedding_(forward, rows), rows, nullptr, {}), rows);
}

Var Seq2Seq::hidden(ForwardContext& forward, const ModelBatch& batch) {
  const Var memory = encode(forward, batch.source);
  return decoder(forward, batch.input, memory, batch.source);
}

Var Seq2Seq::decoder(ForwardContext& forward, const Rows& full, const Var& memory, const Rows& memory_rows) {
  const Rows rows = shards_.place(forward, full);
  return decoder_(forward, target_embedding_(forward, rows), rows, memory, memory_rows);
}

namespace {
// Ragged rows [rows, columns] as [sequences, longest, columns]; what is beyond a sequence's end is never read.
Tensor by_sequence(Context& context, const Tensor& rows, const Offsets& offsets, int64_t longest) {
  const auto sequences = static_cast<int64_t>(offsets.size()) - 1;
  const Tensor out = context.zeros({sequences, longest, rows.columns()}, rows.dtype());
  for (int64_t s = 0; s < sequences; ++s) {
    const Tensor from = rows.slice(offsets[s], offsets[s + 1]);
    convert(context, from, out.slice(s, s + 1).flat(0, from.shape()));
  }
  return out;
}
}  // namespace

std::unique_ptr<KeyValueCache> Seq2Seq::begin_decoding(const Rows& source, int64_t rows, int64_t slots,
                                                       int64_t capacity) {
  require<InternalError>(rows == source.sequences(), "decoding {} rows of {} sources", rows, source.sequences());
  auto cache = std::make_unique<KeyValueCache>(context_, config_.layers, rows, slots, capacity, kv_width(),
                                               compute_dtype(registry_.precision()));
  Tape tape(context_, Tape::Mode::Off);
  ForwardContext forward{.tape = tape, .fixed_blocks = true};
  const Var memory = encode(forward, source);
  std::vector<int32_t> lengths;
  for (int64_t s = 0; s < rows; ++s) lengths.push_back(source.offsets[s + 1] - source.offsets[s]);
  const int64_t longest = std::max<int64_t>(1, rows ? *std::ranges::max_element(lengths) : 0);
  std::vector<Tensor> keys_and_values;
  for (const Block& block : decoder_.blocks()) {
    const Var kv = block.cross().keys_and_values(forward, memory, source);
    keys_and_values.push_back(by_sequence(context_, kv->value, source.offsets, longest));
  }
  cache->set_memory(std::move(keys_and_values), std::move(lengths));
  return cache;
}

}  // namespace weft
