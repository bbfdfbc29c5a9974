// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/transformer.h"

namespace weft {

// Decoder-only language model (Radford et al. 2019): embedding, causal blocks, output projection.
class Gpt : public Transformer {
 public:
  Gpt(Context& context, Mesh& mesh, const ModelSpec& spec);
  Var hidden(ForwardContext& forward, const ModelBatch& batch) override;
  Var states(ForwardContext& forward, const Tokens& texts) override;
  void admit(KeyValueCache& cache, const Tokens& source, int64_t hypotheses) override;

 protected:
  Var decoder(ForwardContext& forward, const Tokens& tokens, const Memory& memory) override;
  void prepare_embeddings(DType compute) override { embedding_.prepare(context_, compute); }

 private:
  Embedding embedding_;
  Stack decoder_;
};

}  // namespace weft
