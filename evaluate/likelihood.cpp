// SPDX-License-Identifier: Apache-2.0
#include "evaluate/likelihood.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

// Continuations that one forward pass scores. Every token of each but its last is fed; scoring begins at the position
// of the last context token.
struct ScoringBatch {
  size_t first_continuation = 0;
  std::vector<int32_t> fed, targets;
  std::vector<int32_t> offsets = {0};

  size_t count() const { return offsets.size() - 1; }
  void add(const Continuation& c, int64_t positions);
};

void ScoringBatch::add(const Continuation& c, int64_t positions) {
  const auto scored = std::ssize(c.tokens);
  require<DataError>(scored <= positions, "a text of {} tokens is to be scored; the model has {} positions", scored,
                     positions);
  require<InternalError>(!c.context.empty() && !c.tokens.empty(), "a continuation is empty");
  const int64_t kept = std::min(std::ssize(c.context), positions + 1 - scored);
  fed.insert(fed.end(), c.context.end() - kept, c.context.end());
  fed.insert(fed.end(), c.tokens.begin(), c.tokens.end() - 1);
  targets.resize(targets.size() + static_cast<size_t>(kept - 1), -1);
  targets.insert(targets.end(), c.tokens.begin(), c.tokens.end());
  offsets.push_back(static_cast<int32_t>(fed.size()));
}

// The batches do not depend on the layout, so that figures do not.
std::vector<ScoringBatch> scoring_batches(const Transformer& model, std::span<const Continuation> continuations) {
  constexpr size_t kMostTokens = 2048;
  const int64_t positions = model.config().max_length;
  std::vector<ScoringBatch> batches;
  for (size_t i = 0; i < continuations.size(); ++i) {
    const size_t tokens =
        std::min(continuations[i].context.size() + continuations[i].tokens.size(), static_cast<size_t>(positions) + 1);
    if (batches.empty() || batches.back().fed.size() + tokens > kMostTokens)
      batches.push_back({.first_continuation = i});
    batches.back().add(continuations[i], positions);
  }
  return batches;
}

std::vector<double> on_host(Context& context, const Tensor& values) {
  const Tensor wide = context.empty(values.shape(), DType::F64);
  convert(context, values, wide);
  std::vector<double> host(static_cast<size_t>(values.elements()));
  download(context, wide, std::span<double>(host));
  return host;
}

// Adds to each continuation of a batch its log-probability, and how many of its tokens are not the likeliest.
void score(Transformer& model, const ScoringBatch& batch, std::span<double> found) {
  Context& context = model.context();
  Tape tape(context, Tape::Mode::Off);
  ForwardContext forward{.tape = tape};
  const ModelBatch input{.input = pack_tokens(context, {.tokens = batch.fed, .offsets = batch.offsets},
                                              TokenUse::Forward, model.residual_part()),
                         .targets = to_device(context, std::span<const int32_t>(batch.targets))};
  const TokenScores scores = model.score(forward, input);
  const std::vector<double> nll = on_host(context, scores.nll), margin = on_host(context, scores.margin);
  for (size_t i = 0; i < batch.count(); ++i) {
    for (auto at = static_cast<size_t>(batch.offsets[i]); at < static_cast<size_t>(batch.offsets[i + 1]); ++at) {
      if (batch.targets[at] < 0) continue;
      found[2 * i] -= nll[at];
      found[2 * i + 1] += margin[at] < 0;
    }
  }
}

}  // namespace

std::vector<Likelihood> likelihoods(Transformer& model, std::span<const Continuation> continuations) {
  Mesh& mesh = model.parameters().mesh();
  const Heartbeat::Scope evaluating(mesh.heartbeat(), RunPhase::Evaluate);
  const std::vector<ScoringBatch> batches = scoring_batches(model, continuations);
  // Of each continuation its log-probability, and how many of its tokens are not the likeliest.
  std::vector<double> found(2 * continuations.size());
  for (auto i = static_cast<size_t>(mesh.dp().rank()); i < batches.size(); i += static_cast<size_t>(mesh.dp().size())) {
    score(model, batches[i], std::span(found).subspan(2 * batches[i].first_continuation, 2 * batches[i].count()));
    mesh.progress();
  }
  if (!mesh.first_of_replica()) found.assign(found.size(), 0);
  mesh.world().all_reduce_host(found, ReduceOp::Sum);
  std::vector<Likelihood> all;
  for (size_t i = 0; i < found.size(); i += 2) {
    all.push_back({.log_probability = found[i], .greedy = found[i + 1] == 0});
  }
  return all;
}

}  // namespace weft
