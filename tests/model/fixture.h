// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/context.h"
#include "model/transformer.h"

namespace weft::test {

// Ragged random sequences: lengths as given, tokens below the vocabulary.
struct TokenRows {
  std::vector<int32_t> tokens, offsets{0};
};

inline TokenRows random_rows(std::mt19937& random, const std::vector<int32_t>& lengths, int64_t vocabulary) {
  TokenRows rows;
  for (const int32_t n : lengths) {
    for (int32_t i = 0; i < n; ++i) rows.tokens.push_back(static_cast<int32_t>(random() % vocabulary));
    rows.offsets.push_back(static_cast<int32_t>(rows.tokens.size()));
  }
  return rows;
}

// A batch of ragged sequences; every fifth target counts for nothing.
inline ModelBatch random_batch(Context& context, const Vocabularies& v, const std::vector<int32_t>& lengths,
                               uint32_t seed = 7) {
  std::mt19937 random(seed);
  ModelBatch batch;
  std::vector<int64_t> samples(lengths.size());
  std::iota(samples.begin(), samples.end(), 100);
  if (v.source > 0) {
    std::vector<int32_t> source_lengths;
    for (const int32_t n : lengths) source_lengths.push_back(n + static_cast<int32_t>(random() % 3));
    const TokenRows source = random_rows(random, source_lengths, v.source);
    batch.source = pack_tokens(context, {.tokens = source.tokens, .offsets = source.offsets, .sequence_ids = samples},
                               TokenUse::Backward);
  }
  const TokenRows input = random_rows(random, lengths, v.target);
  batch.input = pack_tokens(context, {.tokens = input.tokens, .offsets = input.offsets, .sequence_ids = samples},
                            TokenUse::Backward);
  batch.targets = context.empty({batch.input->count()}, DType::I32);
  for (int64_t r = 0; r < batch.input->count() && !context.meta(); ++r) {
    batch.targets.data<int32_t>()[r] = r % 5 == 4 ? -1 : static_cast<int32_t>(random() % v.target);
  }
  return batch;
}

// f64[1] each, zero.
inline LossSums no_losses(Context& context) { return {context.zeros({1}, DType::F64), context.zeros({1}, DType::F64)}; }

inline TransformerConfig small_config(bool seq2seq) {
  TransformerConfig c;
  c.layers = 2;
  c.encoder_layers = seq2seq ? 2 : 0;
  c.width = 12;
  c.heads = 3;
  c.ffn = 20;
  c.max_length = 16;
  c.init_std = 0.3;
  return c;
}

inline Vocabularies small_vocabularies(bool seq2seq) { return {.source = seq2seq ? 11 : 0, .target = 11}; }
inline ModelSpec small_spec(bool seq2seq) {
  return {.config = small_config(seq2seq), .vocabularies = small_vocabularies(seq2seq)};
}

}  // namespace weft::test
