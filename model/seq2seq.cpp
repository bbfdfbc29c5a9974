// SPDX-License-Identifier: Apache-2.0
#include "model/seq2seq.h"

#include <algorithm>

#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"

namespace weft {

Seq2Seq::Seq2Seq(Context& context, Mesh& mesh, const ModelSpec& spec)
    : Transformer(context, mesh, spec),
      source_embedding_(layer_scope_, "encoder.embedding", spec.vocabularies.source),
      target_embedding_(layer_scope_, "decoder.embedding", spec.vocabularies.target,
                        spec.config.tying == Tying::All ? source_embedding_.table() : nullptr),
      encoder_(layer_scope_, {.name = "encoder", .layers = spec.config.encoder_layers}),
      decoder_(layer_scope_, {.name = "decoder", .layers = spec.config.layers, .causal = true, .cross = true}) {
  declare_output(spec.config.tying == Tying::None ? nullptr : target_embedding_.table());
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

// Rows that fill [sequences, longest] places; what is beyond a sequence's end is never read, and holds a copy of a row.
std::vector<int32_t> rows_by_sequence(const Offsets& offsets, size_t begin, size_t end, int64_t longest) {
  std::vector<int32_t> rows;
  const auto last = static_cast<int32_t>(offsets.rows() - 1);
  for (size_t s = begin; s < end; ++s) {
    for (int32_t t = 0; t < longest; ++t) rows.push_back(std::min(offsets.host[s] + t, last));
  }
  return rows;
}

}  // namespace

void Seq2Seq::admit(KeyValueCache& cache, const Tokens& source, int64_t hypotheses) {
  const Offsets& offsets = *source->offsets;
  require<InternalError>(hypotheses == source->sequences(), "decoding {} hypotheses of {} sources", hypotheses,
                         source->sequences());
  require<InternalError>(offsets.longest <= cache.memory(0).size(1), "a source of {} tokens in a cache for {}",
                         offsets.longest, cache.memory(0).size(1));
  std::vector<int32_t> lengths;
  for (int64_t s = 0; s < hypotheses; ++s) lengths.push_back(static_cast<int32_t>(offsets.length(s)));
  const std::vector<int32_t> places = cache.add_rows(lengths);
  if (offsets.rows() == 0) return;  // without a source token there is nothing to attend to
  Tape tape(context_, Tape::Mode::Off);
  ForwardContext forward{.tape = tape, .batch_invariant = true, .packed = &packed_weights_};
  const Memory memory = encode(forward, source);
  std::vector<Var> keys_and_values;
  for (const Block& block : decoder_.blocks()) {
    keys_and_values.push_back(block.cross().keys_and_values(forward, memory));
  }
  // Sources whose places follow each other are copied together.
  for (size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    for (end = begin + 1; end < places.size() && places[end] == places[end - 1] + 1;) ++end;
    const Tensor rows =
        to_device(context_, std::span<const int32_t>(rows_by_sequence(offsets, begin, end, cache.memory(0).size(1))));
    for (size_t layer = 0; layer < keys_and_values.size(); ++layer) {
      const Tensor& to = cache.memory(static_cast<int>(layer));
      gather_rows(context_, keys_and_values[layer]->value, rows, to.slice(places[begin], places[end - 1] + 1));
    }
  }
}

}  // namespace weft
