// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/fields.h"

namespace weft {

enum class ScheduleKind : uint8_t { Constant, Linear, Cosine, InverseSqrt, WarmupStableDecay };
template <>
struct EnumNames<ScheduleKind> {
  static constexpr auto kNames = enum_names<ScheduleKind>("constant", "linear", "cosine", "inverse_sqrt", "wsd");
};

// How the learning rate moves over a run. All steps are optimizer steps, counted from 0.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::Cosine;
  double learning_rate = 1e-3;
  int64_t warmup_steps = 0;
  std::optional<double> initial_learning_rate;
  double final_learning_rate = 0;
  int64_t decay_end_step = 0;
  int64_t cooldown_steps = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    const Range rate{.min = 0, .max = 1000};
    const Range steps{.min = 0, .max = 1e15};
    v.field("kind", kind,
            "After the warm-up: constant; linear or cosine down to the final rate; inverse_sqrt, which falls as "
            "1/sqrt(step); wsd (warm-up, stable, decay), which stays and then falls linearly.");
    v.field("learning_rate", learning_rate, "The highest rate, reached at the end of the warm-up.",
            Range{.min = 1e-20, .max = 1000});
    v.field("warmup_steps", warmup_steps, "Steps over which the rate rises linearly.", steps);
    v.field("initial_learning_rate", initial_learning_rate,
            "Rate of step 0 of the warm-up; null means learning_rate / (warmup_steps + 1), one rise from zero.", rate);
    v.field("final_learning_rate", final_learning_rate,
            "Rate at the end of the decay (linear, cosine, wsd), or the lowest rate (inverse_sqrt).", rate);
    v.field("decay_end_step", decay_end_step,
            "Step at which the final rate is reached (linear, cosine, wsd); 0 means the last step of the run.", steps);
    v.field("cooldown_steps", cooldown_steps, "Steps of the decay at the end (wsd).", steps);
  }
};

// The learning rate of the optimizer step with `step` steps before it; `max_steps` is the length of the run. With
// w = warmup_steps, p = learning_rate, i = initial_learning_rate, f = final_learning_rate, u = decay_end_step (or
// max_steps):
//   step < w:      i + (p - i) step / w
//   constant:      p
//   linear:        p + (f - p) r                  r = (step - w) / (u - w), at most 1
//   cosine:        f + (p - f) (1 + cos(pi r)) / 2                (Loshchilov and Hutter 2017, one half-period)
//   inverse_sqrt:  max(f, p sqrt(w / step)), w at least 1         (Vaswani et al. 2017)
//   wsd:           p, then p + (f - p) r with r over the last `cooldown_steps` steps before u   (Hu et al. 2024)
double learning_rate(const ScheduleConfig& schedule, int64_t step, int64_t max_steps);

// The contradictions in a schedule, each as "schedule.key: what; what to change". max_steps 0: not known yet.
std::vector<std::string> schedule_problems(const ScheduleConfig& schedule, int64_t max_steps);

}  // namespace weft
