// SPDX-License-Identifier: Apache-2.0
#include "metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"

namespace weft {
namespace {

// Calls use(line) for each line of a sample. A draw is bits * lines / 2^32: the relative error of a line's share is at
// most lines / 2^32.
template <class Use>
void draw_sample(const Philox& random, uint64_t sample, uint64_t lines, Use use) {
  for (uint64_t i = 0; i < lines; i += 4) {
    const Philox::Counter bits = random({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32),
                                         static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)});
    for (uint64_t k = 0; k < std::min<uint64_t>(4, lines - i); ++k) {
      use(static_cast<size_t>(bits[k] * lines >> 32));
    }
  }
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<double> bootstrap_scores(const Metric& metric, const LineStatistics& statistics,
                                     const BootstrapConfig& config) {
  const Philox random(config.seed);
  std::vector<double> scores, sums(statistics.columns);
  for (int64_t sample = 0; sample < config.samples; ++sample) {
    std::ranges::fill(sums, 0.0);
    draw_sample(random, static_cast<uint64_t>(sample), statistics.lines(), [&](size_t line) {
      const auto row = statistics.row(line);
      for (size_t c = 0; c < sums.size(); ++c) sums[c] += row[c];
    });
    scores.push_back(metric.score(sums));
  }
  return scores;
}

Interval confidence_interval(std::vector<double> scores) {
  require<InternalError>(!scores.empty(), "an interval of no scores");
  std::ranges::sort(scores);
  const size_t below = scores.size() / 40;
  return {.mean = mean_of(scores), .half_width = (scores[scores.size() - 1 - below] - scores[below]) / 2};
}

double paired_p_value(std::span<const double> baseline, std::span<const double> system, double difference) {
  require<InternalError>(baseline.size() == system.size(), "{} scores of the baseline, {} of the system",
                         baseline.size(), system.size());
  std::vector<double> differences;
  for (size_t s = 0; s < system.size(); ++s) differences.push_back(std::abs(system[s] - baseline[s]));
  const double mean = mean_of(differences);
  const auto larger = std::ranges::count_if(differences, [&](double d) { return d - mean > std::abs(difference); });
  return static_cast<double>(larger + 1) / static_cast<double>(differences.size() + 1);
}

}  // namespace weft
