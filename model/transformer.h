// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>

#include "model/cache.h"
#include "model/config.h"
#include "model/layers/embedding.h"
#include "model/layers/rotary_tables.h"
#include "model/packed_weights.h"
#include "model/stack.h"

namespace weft {

// One micro-batch on the device.
struct ModelBatch {
  Tokens source;       // translation; null for GPT
  Tokens input;        // decoder inputs
  Tensor targets;      // i32[tokens of input]; < 0: nothing is predicted
  Tensor arrays = {};  // i32: the device memory of all the arrays, in one piece
};

// What makes a target's loss more than -log p, as kernels/ops/cross_entropy.h defines it.
struct LossTerms {
  double smoothing = 0;
  double z_loss = 0;
};

// f64[1] each, in nats: the sums over valid targets are added to the values already there.
struct LossSums {
  Tensor loss;  // with LossTerms added
  Tensor nll;   // without
};

// Of each token of the input, accumulator dtype [tokens], whole on each rank of tp: what OutputLoss says of nll and
// margin.
struct TokenScores {
  Tensor nll, margin;
};

// The dimensions of a KeyValueCache.
struct DecodingRoom {
  int64_t slots = 0;           // hypotheses alive at once
  int64_t capacity = 0;        // positions of each
  int64_t sources = 0;         // translation: sentences alive at once
  int64_t longest_source = 0;  // in tokens
};

// The settings that decide which parameters a model has.
struct ModelSpec {
  TransformerConfig config;
  Vocabularies vocabularies;
  LoraConfig lora;
  bool sequence_parallel = false;
};

// A transformer with an output projection: Gpt has a decoder stack alone, Seq2Seq an encoder before it. Model code
// writes forward only and names no rank; gradients come from the tape.
class Transformer {
 public:
  virtual ~Transformer() = default;
  Transformer(const Transformer&) = delete;
  Transformer& operator=(const Transformer&) = delete;

  const TransformerConfig& config() const { return spec_.config; }
  const Vocabularies& vocabularies() const { return spec_.vocabularies; }
  ParameterRegistry& parameters() { return registry_; }
  Context& context() { return context_; }
  // How the residual stream's tokens are divided in training and evaluation, for pack_tokens().
  ResidualPart residual_part() const { return shards_.residual_part(); }

  void freeze_all_but_adapters();
  // Makes buffers and constant tables; then initialise() the registry or load a checkpoint.
  void allocate(Precision precision, Purpose purpose, const Sharding& sharding = {});

  // Runs forward to the loss. If the tape records, also computes the output layer's gradients, scaled by the step's
  // inverse_divisor; tape.backward() computes the others.
  void loss(ForwardContext& forward, const ModelBatch& batch, const LossTerms& terms, const LossSums& sums);

  // The scores of each target, without gradients; the tape does not record.
  TokenScores score(ForwardContext& forward, const ModelBatch& batch);

  // The decoder's last hidden states (after the final norm), [sequence-sharded tokens, width].
  virtual Var hidden(ForwardContext& forward, const ModelBatch& batch) = 0;
  // The last hidden states of texts: of a GPT's stack, of a translation model's encoder. [sequence-sharded tokens of a
  // GPT, replicated ones of an encoder; width]
  virtual Var states(ForwardContext& forward, const Tokens& texts) = 0;

  // Decoding: make_cache() returns a cache without hypotheses; admit() appends empty ones: one per source sentence
  // (Seq2Seq, whose encoder runs here), or `hypotheses` of them (GPT, for which `source` is null).
  std::unique_ptr<KeyValueCache> make_cache(const DecodingRoom& room);
  virtual void admit(KeyValueCache& cache, const Tokens& source, int64_t hypotheses) = 0;
  // make_cache() and admit(), with room for `slots` hypotheses, each of `capacity` positions.
  std::unique_ptr<KeyValueCache> begin_decoding(const Tokens& source, int64_t hypotheses, int64_t slots,
                                                int64_t capacity);
  // Feeds each alive hypothesis its new tokens and returns the logits after the last of them, f32 (f64 in f64 runs)
  // [alive hypotheses, vocabulary], whole rows on each rank of tp. Bit-identical whatever is decoded together.
  Tensor decode(KeyValueCache& cache, std::span<const int32_t> tokens, std::span<const int32_t> offsets);
  // Read by decoding's products, and by those of loss() too if a format other than Own was set.
  PackedWeights& packed_weights() { return packed_weights_; }

 protected:
  Transformer(Context& context, Mesh& mesh, ModelSpec spec);
  // Called last in a model's constructor. The output projection has its own weight, or that of a table tied to it.
  void declare_output(const Parameter* tied_weight);
  virtual Var decoder(ForwardContext& forward, const Tokens& tokens, const Memory& memory) = 0;
  virtual void prepare_embeddings(DType compute) = 0;
  // Features of one position's keys and values on this rank.
  int64_t kv_width() const;

  Context& context_;
  ModelSpec spec_;
  ParameterRegistry registry_;
  PackedWeights packed_weights_;
  DropoutIds dropout_ids_;
  TensorParallel shards_;
  LoraSites lora_;
  RotaryTables rotary_;
  LayerScope layer_scope_;
  const Parameter* output_weight_ = nullptr;
  const Parameter* output_bias_ = nullptr;

 private:
  struct Output;
  Output output(ForwardContext& forward, const ModelBatch& batch);
};

// Gpt if config.encoder_layers is 0, Seq2Seq otherwise. With adapters everything else is frozen; ConfigError if one of
// their targets names no product.
std::unique_ptr<Transformer> make_model(Context& context, Mesh& mesh, const ModelSpec& spec);

}  // namespace weft
