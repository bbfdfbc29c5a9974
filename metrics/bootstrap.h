// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/metric.h"

namespace weft {

// Resampling of a test set, which shows how far a figure would move with other lines.
struct BootstrapConfig {
  int64_t samples = 1000;
  uint64_t seed = 12345;
};

// The scores of `samples` test sets, each with as many lines as the original, drawn with replacement. Which lines a
// sample holds depends only on the seed, the sample's number and the count of lines: all systems and metrics are scored
// on the same samples, each line with its references.
std::vector<double> bootstrap_scores(const Metric& metric, const LineStatistics& statistics,
                                     const BootstrapConfig& config);

struct Interval {
  double mean = 0;
  double half_width = 0;  // of the 95 % interval: half the distance between the 2.5th and 97.5th percentiles
};
Interval confidence_interval(std::vector<double> scores);

// Paired bootstrap (Koehn, "Statistical significance tests for machine translation evaluation", EMNLP 2004), two-sided
// as in Moses and sacreBLEU: the probability that chance gives a difference as large as `difference`, that between the
// scores on the test set itself, if the systems were equally good. The samples' differences are centred on their mean;
// one is added to both counts. Both lists hold the scores of the same samples.
double paired_p_value(std::span<const double> baseline, std::span<const double> system, double difference);

}  // namespace weft
