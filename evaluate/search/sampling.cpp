#include "evaluate/search/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/hash.h"
#include "base/philox.h"
#include "evaluate/search/candidates.h"

namespace weft {
namespace {

constexpr int64_t kFirstNucleus = 64;  // candidates that most nuclei fit in; looked for again in eight times as many

// The token at which the cumulative weight passes uniform x total. Rounding may leave the last one short: then it is
// the last token with any weight.
template <class WeightOf>
int64_t invert(int64_t count, double target, WeightOf weight_of) {
  double cumulative = 0;
  int64_t last = -1;
  for (int64_t i = 0; i < count; ++i) {
    const double weight = weight_of(i);
    if (!(weight > 0)) continue;
    last = i;
    cumulative += weight;
    if (cumulative >= target) break;
  }
  return last;
}

// Probability mass of all tokens that are not blocked, in units of exp(logit / temperature).
double log_mass(std::span<const float> logits, double inverse_temperature, std::span<const int32_t> blocked) {
  if (blocked.empty()) return log_sum_exp(logits, inverse_temperature);
  std::vector<float> open(logits.begin(), logits.end());
  for (const int32_t token : blocked) open[token] = -std::numeric_limits<float>::infinity();
  return log_sum_exp(open, inverse_temperature);
}

}  // namespace

double sampling_uniform(int64_t seed, int64_t input, int64_t sample, int64_t position) {
  const Philox philox(hash64("sampling", static_cast<uint64_t>(seed)));
  const auto id = static_cast<uint64_t>(input);
  const Philox::Counter bits = philox({static_cast<uint32_t>(id), static_cast<uint32_t>(id >> 32),
                                       static_cast<uint32_t>(sample), static_cast<uint32_t>(position)});
  const uint64_t word = uint64_t{bits[0]} << 32 | bits[1];
  return (static_cast<double>(word >> 11) + 0.5) * 0x1p-53;
}

int32_t sample_token(std::span<const float> logits, const SearchConfig& config, std::span<const int32_t> blocked,
                     double uniform) {
  if (config.temperature == 0) {
    const auto best = best_tokens(logits, 1, blocked);
    return best.empty() ? -1 : best.front().token;
  }
  const double inverse_temperature = 1 / config.temperature;
  const int64_t vocabulary = static_cast<int64_t>(logits.size());
  if (config.top_k == 0 && config.top_p >= 1) {
    const double mass = log_mass(logits, inverse_temperature, blocked);
    auto next_blocked = blocked.begin();
    return static_cast<int32_t>(invert(vocabulary, uniform, [&](int64_t token) {
      if (next_blocked != blocked.end() && *next_blocked == token) return ++next_blocked, 0.0;
      return std::exp(static_cast<double>(logits[token]) * inverse_temperature - mass);
    }));
  }
  // Without a top_k, top_p means a share of everything that is not blocked; with one, of the k best.
  const double mass = config.top_k > 0 ? 0 : log_mass(logits, inverse_temperature, blocked);
  for (int64_t count = config.top_k > 0 ? config.top_k : kFirstNucleus;; count *= 8) {
    const auto best = best_tokens(logits, count, blocked);
    if (best.empty()) return -1;
    const double shift = static_cast<double>(best.front().logit) * inverse_temperature;
    std::vector<double> cumulative;  // in units of the best token's probability
    double sum = 0;
    for (const Candidate& c : best) {
      cumulative.push_back(sum += std::exp(static_cast<double>(c.logit) * inverse_temperature - shift));
    }
    const double total = config.top_k > 0 ? sum : std::exp(mass - shift);
    const auto nucleus_end = std::lower_bound(cumulative.begin(), cumulative.end(), config.top_p * total);
    if (nucleus_end == cumulative.end() && config.top_k == 0 && count < vocabulary) continue;
    const int64_t kept = std::min<int64_t>(nucleus_end - cumulative.begin() + 1, static_cast<int64_t>(best.size()));
    const auto drawn = std::lower_bound(cumulative.begin(), cumulative.begin() + kept, uniform * cumulative[kept - 1]);
    return best[std::min<int64_t>(drawn - cumulative.begin(), kept - 1)].token;
  }
}

}  // namespace weft
