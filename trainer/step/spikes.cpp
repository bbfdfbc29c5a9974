// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/spikes.h"

#include <cmath>
#include <span>

namespace weft {
namespace {

double limit_of(std::span<const double> recent, const SpikesConfig& spikes) {
  const double none = std::numeric_limits<double>::infinity();
  const auto window = static_cast<size_t>(spikes.window);
  if (window < 2 || recent.size() < window) return none;
  const auto steps = recent.last(window);
  double sum = 0, squares = 0;
  for (const double value : steps) sum += value;
  const double mean = sum / static_cast<double>(window);
  for (const double value : steps) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(window - 1));
  return deviation > 0 ? mean + spikes.bound * deviation : none;
}

void add(double value, size_t window, std::vector<double>& recent) {
  recent.push_back(value);
  if (recent.size() > window) recent.erase(recent.begin(), recent.end() - static_cast<ptrdiff_t>(window));
}

}  // namespace

SpikeLimits spike_limits(const SpikesConfig& spikes, const RunState& state) {
  SpikeLimits limits;
  if (spikes.of != SpikeOf::Norm) limits.loss = limit_of(state.recent_losses, spikes);
  if (spikes.of != SpikeOf::Loss) limits.norm = limit_of(state.recent_norms, spikes);
  return limits;
}

void note_recent(const SpikesConfig& spikes, double loss, double norm, RunState& state) {
  const auto window = static_cast<size_t>(spikes.window);
  add(loss, window, state.recent_losses);
  add(norm, window, state.recent_norms);
}

}  // namespace weft
