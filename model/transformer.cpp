// SPDX-License-Identifier: Apache-2.0
#include "model/transformer.h"

#include <algorithm>
#include <vector>

#include "base/divide_up.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/reduction.h"
#include "model/gpt.h"
#include "model/seq2seq.h"
#include "parallel/output_loss.h"

namespace weft {

Transformer::Transformer(Context& context, Mesh& mesh, ModelSpec spec)
    : context_(context),
      spec_(std::move(spec)),
      registry_(context, mesh),
      packed_weights_(registry_),
      shards_(mesh.tp(), spec_.sequence_parallel),
      lora_(spec_.lora),
      layer_scope_{registry_, spec_.config, dropout_ids_, shards_, lora_, rotary_} {}

void Transformer::declare_output(const Parameter* tied_weight) {
  const int64_t vocabulary = spec_.vocabularies.target;
  output_weight_ = tied_weight;
  if (!output_weight_) {
    output_weight_ = &registry_.add({.name = "output.weight",
                                     .shape = {vocabulary, spec_.config.width},
                                     .init = layer_scope_.weight_init(spec_.config.width, vocabulary),
                                     .decays = true,
                                     .placement = sharded(MeshAxis::Tp, 0),
                                     .padded = true});
  }
  if (spec_.config.output_bias) {
    output_bias_ = &registry_.add(
        {.name = "output.bias", .shape = {vocabulary}, .placement = sharded(MeshAxis::Tp, 0), .padded = true});
  }
}

void Transformer::freeze_all_but_adapters() {
  lora_.check();
  for (const auto& p : registry_.parameters()) {
    if (!is_adapter(p->spec().name)) registry_.freeze(*p);
  }
}

void Transformer::allocate(Precision precision, Purpose purpose, const Sharding& sharding) {
  registry_.allocate(precision, purpose, sharding);
  prepare_embeddings(compute_dtype(precision));
  rotary_.prepare(context_, spec_.config, compute_dtype(precision));
}

int64_t Transformer::kv_width() const {
  return 2 * shards_.share(spec_.config.derived_kv_heads(), "model.kv_heads") * spec_.config.derived_head_dim();
}

// The last hidden states, the uses of the output layer's parameters, and what its losses and scores have in common.
struct Transformer::Output {
  Var hidden;
  ParameterUse weight, bias;
  OutputLoss args;
};

Transformer::Output Transformer::output(ForwardContext& forward, const ModelBatch& batch) {
  Tape& tape = forward.tape;
  if (!tape.recording() && packed_weights_.format() != WeightFormat::Own) forward.packed = &packed_weights_;
  const Var h = shards_.copy_or_gather(forward, hidden(forward, batch), batch.input);
  const int64_t n = h->value.size(0);
  const DType acc_dtype = accumulator_of(h->value.dtype());
  const Tensor loss = context_.empty({n}, acc_dtype), nll = context_.empty({n}, acc_dtype);
  const ParameterUse weight = tape.use(output_weight_), bias = tape.use(output_bias_);
  return {.hidden = h,
          .weight = weight,
          .bias = bias,
          .args = {.tp = &shards_.communicator(),
                   .vocabulary = spec_.vocabularies.target,
                   .hidden = h->value,
                   .weight = weight.value(),
                   .packed = forward.packed ? forward.packed->of(weight.value()) : nullptr,
                   .bias = bias.value(),
                   .targets = batch.targets,
                   .step = forward.step,
                   .loss = loss,
                   .nll = nll}};
}

void Transformer::loss(ForwardContext& forward, const ModelBatch& batch, const LossTerms& terms, const LossSums& sums) {
  Tape& tape = forward.tape;
  if (tape.recording()) packed_weights_.drop();
  auto [h, weight, bias, args] = output(forward, batch);
  args.smoothing = terms.smoothing, args.z_loss = terms.z_loss;
  if (tape.recording()) {
    args.dhidden = context_.empty(h->value.shape(), h->value.dtype());
    args.dweight = weight.gradient(), args.dbias = bias.gradient();
  }
  output_loss(context_, args);
  // Forward has contributed the gradients already; the closure holds the uses open until backward runs.
  tape.push([h = h, weight = weight, bias = bias, dhidden = args.dhidden] { h->gradient = dhidden; });
  sum_all(context_, args.loss, sums.loss, Accumulate::Add);
  sum_all(context_, args.nll, sums.nll, Accumulate::Add);
}

TokenScores Transformer::score(ForwardContext& forward, const ModelBatch& batch) {
  require<InternalError>(!forward.tape.recording(), "scores have no gradients");
  Output found = output(forward, batch);
  const Tensor& nll = found.args.nll;
  found.args.margin = context_.empty(nll.shape(), nll.dtype());
  output_loss(context_, found.args);
  return {.nll = nll, .margin = found.args.margin};
}

std::unique_ptr<KeyValueCache> Transformer::make_cache(const DecodingRoom& room) {
  std::vector<int64_t> windows;
  for (int layer = 0; layer < spec_.config.layers; ++layer) windows.push_back(spec_.config.attention_window(layer));
  auto cache = std::make_unique<KeyValueCache>(context_, windows, room.slots, room.capacity, kv_width(),
                                               compute_dtype(registry_.precision()));
  if (spec_.config.encoder_layers > 0) cache->make_memory(room.sources, std::max<int64_t>(1, room.longest_source));
  return cache;
}

std::unique_ptr<KeyValueCache> Transformer::begin_decoding(const Tokens& source, int64_t hypotheses, int64_t slots,
                                                           int64_t capacity) {
  auto cache = make_cache({.slots = slots,
                           .capacity = capacity,
                           .sources = hypotheses,
                           .longest_source = source ? source->offsets->longest : 0});
  admit(*cache, source, hypotheses);
  return cache;
}

namespace {

// Tokens of each hypothesis, as decode() is given them.
struct FedTokens {
  std::vector<int32_t> tokens, offsets{0};
};

// The last but `after` pieces of up to `most` tokens of each hypothesis; of short ones nothing may be left. So the last
// piece ends with the last token of all.
FedTokens piece_of(std::span<const int32_t> tokens, std::span<const int32_t> offsets, int64_t most, int64_t after) {
  FedTokens piece;
  for (size_t r = 0; r + 1 < offsets.size(); ++r) {
    const int64_t first = offsets[r], last = offsets[r + 1] - after * most;
    const int64_t begin = std::max(first, last - most), end = std::max(first, last);
    piece.tokens.insert(piece.tokens.end(), tokens.begin() + begin, tokens.begin() + end);
    piece.offsets.push_back(static_cast<int32_t>(piece.tokens.size()));
  }
  return piece;
}

}  // namespace

Tensor Transformer::decode(KeyValueCache& cache, std::span<const int32_t> tokens, std::span<const int32_t> offsets) {
  require<InternalError>(static_cast<int64_t>(offsets.size()) == cache.rows() + 1,
                         "decode: {} hypotheses, the cache has {}", offsets.size() - 1, cache.rows());
  Tape tape(context_, Tape::Mode::Off);
  ForwardContext forward{.tape = tape, .cache = &cache, .batch_invariant = true, .packed = &packed_weights_};
  int64_t longest = 0;
  for (int64_t r = 0; r < cache.rows(); ++r) {
    const int32_t n = offsets[r + 1] - offsets[r];
    longest = std::max<int64_t>(longest, n);
    require<InternalError>(n > 0 && cache.past()[r] + n <= cache.capacity(),
                           "decode: hypothesis {} has {} + {} of {} positions", r, cache.past()[r], n,
                           cache.capacity());
  }
  Tokens packed;
  Var h;
  const auto feed = [&](std::span<const int32_t> of, std::span<const int32_t> ends) {
    packed = pack_tokens(context_, {.tokens = of, .offsets = ends, .first_position = cache.past()});
    h = decoder(forward, packed, {});
    cache.advance(ends);
  };
  const int64_t pieces = divide_up(longest, cache.most_fed());
  if (pieces == 1) {
    feed(tokens, offsets);
  } else {
    for (int64_t after = pieces - 1; after >= 0; --after) {
      const FedTokens fed = piece_of(tokens, offsets, cache.most_fed(), after);
      feed(fed.tokens, fed.offsets);
    }
  }
  const Tensor last = context_.empty({cache.rows(), h->value.columns()}, h->value.dtype());
  gather_rows(context_, h->value, packed->last, last);
  const DType acc_dtype = accumulator_of(last.dtype());  // as in the loss: close logits stay distinct for the search
  // A single rank leaves the padding out of the product; several ranks gather their parts with the padding.
  const int64_t columns = shards_.active() ? output_weight_->local_shape()[0] : spec_.vocabularies.target;
  const Tensor logits = context_.empty({last.size(0), columns}, acc_dtype);
  linear_of_pass(forward, {.x = last,
                           .weight = output_weight_->value().slice(0, columns),
                           .bias = output_bias_ ? output_bias_->value().slice(0, columns) : Tensor{},
                           .y = logits});
  if (!shards_.active()) return logits;
  Communicator& tp = shards_.communicator();
  const Tensor parts = context_.empty({tp.size(), last.size(0), columns}, acc_dtype);
  tp.all_gather(logits, parts);
  const Tensor whole = context_.empty({last.size(0), spec_.vocabularies.target}, acc_dtype);
  join_columns(context_, parts, whole);  // without the padding
  return whole;
}

std::unique_ptr<Transformer> make_model(Context& context, Mesh& mesh, const ModelSpec& spec) {
  std::unique_ptr<Transformer> model;
  if (spec.config.encoder_layers == 0) {
    model = std::make_unique<Gpt>(context, mesh, spec);
  } else {
    model = std::make_unique<Seq2Seq>(context, mesh, spec);
  }
  if (spec.lora.active()) model->freeze_all_but_adapters();
  return model;
}

}  // namespace weft
