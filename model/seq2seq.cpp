#include "model/seq2seq.h"

#include <algorithm>

#include "kernels/elementwise.h"

namespace weft {

Seq2Seq::Seq2Seq(Context& context, Mesh& mesh, const TransformerConfig& config, const Vocabularies& vocabularies,
                 bool sequence_parallel)
    : Transformer(context, mesh, config, vocabularies, sequence_parallel),
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

Memory Seq2Seq::encode(ForwardContext& forward, const PackedTokens& source) {
  const PackedTokens tokens = shards_.shard_token_ids(forward, source);
  const Var states = encoder_(forward, source_embedding_(forward, tokens), tokens, {});
  return {shards_.copy_or_gather(forward, states, tokens), tokens};
}

Var Seq2Seq::hidden(ForwardContext& forward, const ModelBatch& batch) {
  return decoder(forward, batch.input, encode(forward, batch.source));
}

Var Seq2Seq::decoder(ForwardContext& forward, const PackedTokens& input, const Memory& memory) {
  const PackedTokens tokens = shards_.shard_token_ids(forward, input);
  return decoder_(forward, target_embedding_(forward, tokens), tokens, memory);
}

namespace {
// [tokens, columns] as [sequences, longest, columns]; what is beyond a sequence's end is never read.
Tensor by_sequence(Context& context, const Tensor& packed, const Offsets& offsets, int64_t longest) {
  const auto sequences = static_cast<int64_t>(offsets.size()) - 1;
  const Tensor out = context.zeros({sequences, longest, packed.columns()}, packed.dtype());
  for (int64_t s = 0; s < sequences; ++s) {
    const Tensor from = packed.slice(offsets[s], offsets[s + 1]);
    convert(context, from, out.slice(s, s + 1).flat(0, from.shape()));
  }
  return out;
}
}  // namespace

std::unique_ptr<KeyValueCache> Seq2Seq::begin_decoding(const PackedTokens& source, int64_t hypotheses, int64_t slots,
                                                       int64_t capacity) {
  require<InternalError>(hypotheses == source.sequences(), "decoding {} hypotheses of {} sources", hypotheses,
                         source.sequences());
  auto cache = std::make_unique<KeyValueCache>(context_, config_.layers, hypotheses, slots, capacity, kv_width(),
                                               compute_dtype(registry_.precision()));
  Tape tape(context_, Tape::Mode::Off);
  ForwardContext forward{.tape = tape, .batch_invariant = true};
  const Memory memory = encode(forward, source);
  std::vector<int32_t> lengths;
  for (int64_t s = 0; s < hypotheses; ++s) lengths.push_back(source.offsets[s + 1] - source.offsets[s]);
  const int64_t longest = std::max<int64_t>(1, hypotheses ? *std::ranges::max_element(lengths) : 0);
  std::vector<Tensor> keys_and_values;
  for (const Block& block : decoder_.blocks()) {
    const Var kv = block.cross().keys_and_values(forward, memory);
    keys_and_values.push_back(by_sequence(context_, kv->value, source.offsets, longest));
  }
  cache->set_memory(std::move(keys_and_values), std::move(lengths));
  return cache;
}

}  // namespace weft
