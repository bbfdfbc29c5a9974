// SPDX-License-Identifier: Apache-2.0
#include "evaluate/likelihood.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

// Every token but the last is fed; scoring begins at the position of the last context token.
ModelBatch scoring_batch(Transformer& model, const Continuation& c) {
  const auto scored = static_cast<int64_t>(c.tokens.size());
  const int64_t most = model.config().max_length;
  require<DataError>(scored <= most, "a text of {} tokens is to be scored; the model has {} positions", scored, most);
  const int64_t kept = std::min(static_cast<int64_t>(c.context.size()), most + 1 - scored);
  std::vector<int32_t> fed(c.context.end() - kept, c.context.end());
  std::vector<int32_t> targets(static_cast<size_t>(kept - 1), -1);
  fed.insert(fed.end(), c.tokens.begin(), c.tokens.end() - 1);
  targets.insert(targets.end(), c.tokens.begin(), c.tokens.end());
  const std::array<int32_t, 2> offsets{0, static_cast<int32_t>(fed.size())};
  Context& context = model.context();
  return {.input = pack_tokens(context, {.tokens = fed, .offsets = offsets}, TokenUse::Forward, model.residual_part()),
          .targets = to_device(context, std::span<const int32_t>(targets))};
}

std::vector<double> on_host(Context& context, const Tensor& values) {
  const Tensor wide = context.empty(values.shape(), DType::F64);
  convert(context, values, wide);
  std::vector<double> host(static_cast<size_t>(values.elements()));
  download(context, wide, std::span<double>(host));
  return host;
}

}  // namespace

std::vector<Likelihood> likelihoods(Transformer& model, std::span<const Continuation> continuations) {
  Context& context = model.context();
  Mesh& mesh = model.parameters().mesh();
  const Heartbeat::Scope evaluating(mesh.heartbeat(), RunPhase::Evaluate);
  const auto count = static_cast<int64_t>(continuations.size());
  std::vector<double> found(2 *
                            continuations.size());  // of each log-probability and the number of tokens not likeliest
  for (int64_t i = mesh.dp().rank(); i < count; i += mesh.dp().size()) {
    const Continuation& c = continuations[i];
    require<InternalError>(!c.context.empty() && !c.tokens.empty(), "continuation {} is empty", i);
    Tape tape(context, Tape::Mode::Off);
    ForwardContext forward{.tape = tape};
    const TokenScores scores = model.score(forward, scoring_batch(model, c));
    const auto scored = static_cast<int64_t>(c.tokens.size()), rows = scores.nll.elements();
    for (const double nll : on_host(context, scores.nll.slice(rows - scored, rows))) found[2 * i] -= nll;
    for (const double margin : on_host(context, scores.margin.slice(rows - scored, rows)))
      found[2 * i + 1] += margin < 0;
    mesh.progress();
  }
  if (!mesh.first_of_replica()) found.assign(found.size(), 0);
  mesh.world().all_reduce_host(found, ReduceOp::Sum);
  std::vector<Likelihood> all;
  for (size_t i = 0; i < found.size(); i += 2)
    all.push_back({.log_probability = found[i], .greedy = found[i + 1] == 0});
  return all;
}

}  // namespace weft
