// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/transformer.h"

namespace weft {

// Encoder-decoder for translation (Vaswani et al. 2017): the encoder sees the whole source, the decoder attends to its
// output and to what it has written.
class Seq2Seq : public Transformer {
 public:
  Seq2Seq(Context& context, Mesh& mesh, const ModelSpec& spec);
  Var hidden(ForwardContext& forward, const ModelBatch& batch) override;
  Var states(ForwardContext& forward, const Tokens& texts) override;
  void admit(KeyValueCache& cache, const Tokens& source, int64_t hypotheses) override;

 protected:
  Var decoder(ForwardContext& forward, const Tokens& tokens, const Memory& memory) override;
  void prepare_embeddings(DType compute) override;

 private:
  Memory encode(ForwardContext& forward, const Tokens& source);

  Embedding source_embedding_, target_embedding_;
  Stack encoder_, decoder_;
};

}  // namespace weft
