// SPDX-License-Identifier: Apache-2.0
#include "model/layers/rotary_tables.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/layers/constant_table.h"

namespace weft {
namespace {

// Meta's "Llama 3.1" scaling of one angle, as transformers computes it.
double llama3_angle(const RotaryConfig& c, double angle) {
  const double turns = static_cast<double>(c.original_length) * angle / (2 * std::numbers::pi);  // in original_length
  const double kept = (turns - c.low_frequency_factor) / (c.high_frequency_factor - c.low_frequency_factor);
  const double share = std::clamp(kept, 0.0, 1.0);
  return share * angle + (1 - share) * angle / c.factor;
}

double scaled(const RotaryConfig& c, double angle) {
  switch (c.scaling) {
    case RotaryScaling::None:
      return angle;
    case RotaryScaling::Linear:
      return angle / c.factor;
    case RotaryScaling::Llama3:
      return llama3_angle(c, angle);
  }
  throw InternalError("no such scaling");
}

}  // namespace

std::vector<double> rotary_angles(const RotaryConfig& config, int64_t head_dim) {
  std::vector<double> angles;
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    const double exponent = -2 * static_cast<double>(i) / static_cast<double>(head_dim);
    angles.push_back(scaled(config, std::pow(config.base, exponent)));
  }
  return angles;
}

void RotaryTables::prepare(Context& context, const TransformerConfig& config, DType compute) {
  if (config.positions != Positions::Rotary) return;
  require<InternalError>(config.derived_head_dim() % 2 == 0, "rotary positions of heads of {} features",
                         config.derived_head_dim());
  const std::vector<double> angles = rotary_angles(config.rotary, config.derived_head_dim());
  std::vector<float> cosines, sines;
  for (int64_t t = 0; t < config.max_length; ++t) {
    for (const double angle : angles) {
      cosines.push_back(static_cast<float>(std::cos(static_cast<double>(t) * angle)));
      sines.push_back(static_cast<float>(std::sin(static_cast<double>(t) * angle)));
    }
  }
  const Shape shape{config.max_length, static_cast<int64_t>(angles.size())};
  cosines_ = constant_table(context, cosines, shape, accumulator_of(compute));
  sines_ = constant_table(context, sines, shape, accumulator_of(compute));
  form_ = config.rotary.form;
}

Rotary RotaryTables::at(const Tensor& row_positions) const {
  return {.cosines = cosines_, .sines = sines_, .form = form_, .row_positions = row_positions};
}

}  // namespace weft
