// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/choose_tokens.h"

#include <algorithm>
#include <limits>

#include "base/parallel_for.h"
#include "kernels/cpu/candidates.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/formulas/token_scores.h"

namespace weft::cpu {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::span<const int32_t> list_of(const Tensor& begins, const Tensor& all, int64_t text) {
  const int32_t* const begin = begins.device_data<int32_t>() + text;
  return {all.device_data<int32_t>() + begin[0], static_cast<size_t>(begin[1] - begin[0])};
}

// The scores that tokens are chosen by, with blocked tokens still among them: the row itself if no rule changes it.
std::span<const float> scores_of(const ChooseTokens& args, std::span<const float> row, double log_sum,
                                 std::span<const int32_t> repeated, std::span<float> changed) {
  if (!args.log_probabilities && repeated.empty()) return row;
  if (args.log_probabilities) {
    std::ranges::transform(row, changed.begin(), [&](float x) { return formulas::log_probability(x, log_sum); });
  } else {
    std::ranges::copy(row, changed.begin());
  }
  const auto penalty = static_cast<float>(args.penalty);
  for (const int32_t token : repeated) {
    float& x = changed[token];
    x = formulas::penalised(x, penalty);
  }
  return changed;
}

double log_mass(std::span<const float> scores, double scale, std::span<const int32_t> blocked, std::span<float> open) {
  if (blocked.empty()) return log_sum_exp(scores, scale);
  if (scores.data() != open.data()) std::ranges::copy(scores, open.begin());
  for (const int32_t token : blocked) open[token] = kNever;
  return log_sum_exp(open, scale);
}

// Returns the token at which the cumulative weight reaches `uniform`; if rounding leaves the sum short, the last token
// with any weight; -1 if no token has weight.
int64_t draw(std::span<const float> scores, double scale, double log_mass, std::span<const int32_t> blocked,
             double uniform) {
  double cumulative = 0;
  int64_t last = -1;
  auto next_blocked = blocked.begin();
  for (size_t token = 0; token < scores.size(); ++token) {
    if (next_blocked != blocked.end() && *next_blocked == static_cast<int32_t>(token)) {
      ++next_blocked;
      continue;
    }
    const double weight = formulas::share(scores[token], scale, log_mass);
    if (!(weight > 0)) continue;
    last = static_cast<int64_t>(token);
    cumulative += weight;
    if (cumulative >= uniform) break;
  }
  return last;
}

void choose(const ChooseTokens& args, int64_t text, std::span<float> room) {
  const std::span row(args.logits.device_data<float>() + args.rules.rows.device_data<int32_t>()[text] * room.size(),
                      room.size());
  const auto blocked = list_of(args.rules.blocked_begins, args.rules.blocked, text);
  const auto repeated = list_of(args.rules.repeated_begins, args.rules.repeated, text);
  const double log_sum = log_sum_exp(row);
  const std::span<const float> scores = scores_of(args, row, log_sum, repeated, room);
  const double mass = args.masses || args.uniforms ? log_mass(scores, args.scale, blocked, room) : 0;
  double* out = args.out.device_data<double>() + text * args.out.columns();
  double* const end = out + args.out.columns();
  *out++ = log_sum, *out++ = mass;
  const auto add = [&](int64_t token) {
    *out++ = static_cast<double>(token), *out++ = scores[token], *out++ = row[token];
  };
  if (args.uniforms) {
    const int64_t token = draw(scores, args.scale, mass, blocked, args.uniforms.device_data<double>()[text]);
    if (token >= 0) add(token);
  } else {
    for (const Candidate& c : best_tokens(scores, args.count, blocked)) add(c.token);
  }
  std::fill(out, end, -1.0);
}

}  // namespace

template <>
size_t CpuBackend::workspace(const ChooseTokens& args) const {
  return static_cast<size_t>(threads_ * args.logits.columns()) * sizeof(float);
}

template <>
void CpuBackend::run(const ChooseTokens& args, Scratch scratch) {
  const int64_t vocabulary = args.logits.columns();
  float* const room = scratch.take<float>(threads_ * vocabulary);
  parallel_workers(threads_, args.rules.rows.elements(), [&](int64_t text, int worker) {
    choose(args, text, {room + worker * vocabulary, static_cast<size_t>(vocabulary)});
  });
}

}  // namespace weft::cpu
