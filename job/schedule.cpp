// SPDX-License-Identifier: Apache-2.0
#include "job/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {
namespace {

double warmup_rate(const ScheduleConfig& s, int64_t step) {
  const auto warmup = static_cast<double>(s.warmup_steps);
  const double from = s.initial_learning_rate.value_or(s.learning_rate / (warmup + 1));
  return from + (s.learning_rate - from) * static_cast<double>(step) / warmup;
}

// The share of [begin, end] that lies before `step`, 0 to 1; an empty interval counts as passed.
double progress(int64_t step, int64_t begin, int64_t end) {
  if (step >= end) return 1;
  if (step <= begin) return 0;
  return static_cast<double>(step - begin) / static_cast<double>(end - begin);
}

double towards(double from, double to, double ratio) { return from + (to - from) * ratio; }

}  // namespace

double learning_rate(const ScheduleConfig& s, int64_t step, int64_t max_steps) {
  if (step < s.warmup_steps) return warmup_rate(s, step);
  const int64_t end = s.decay_end_step > 0 ? s.decay_end_step : max_steps;
  switch (s.kind) {
    case ScheduleKind::Constant:
      return s.learning_rate;
    case ScheduleKind::Linear:
      return towards(s.learning_rate, s.final_learning_rate, progress(step, s.warmup_steps, end));
    case ScheduleKind::Cosine: {
      const double ratio = progress(step, s.warmup_steps, end);
      return towards(s.final_learning_rate, s.learning_rate, 0.5 * (1 + std::cos(std::numbers::pi * ratio)));
    }
    case ScheduleKind::InverseSqrt: {
      const auto warmup = static_cast<double>(std::max<int64_t>(s.warmup_steps, 1));
      const auto at = static_cast<double>(std::max<int64_t>(step, 1));
      return std::max(s.final_learning_rate, s.learning_rate * std::sqrt(warmup / at));
    }
    case ScheduleKind::WarmupStableDecay:
      return towards(s.learning_rate, s.final_learning_rate,
                     progress(step, std::max(s.warmup_steps, end - s.cooldown_steps), end));
  }
  return s.learning_rate;
}

std::vector<std::string> schedule_problems(const ScheduleConfig& s, int64_t max_steps) {
  std::vector<std::string> problems;
  const std::string_view kind = enum_name(s.kind);
  const bool decays =
      s.kind == ScheduleKind::Linear || s.kind == ScheduleKind::Cosine || s.kind == ScheduleKind::WarmupStableDecay;
  if (max_steps > 0 && s.warmup_steps > max_steps) {
    problems.push_back(fmt::format("schedule.warmup_steps: {} steps do not fit the {} of train.max_steps; lower it",
                                   s.warmup_steps, max_steps));
  }
  if (s.initial_learning_rate && s.warmup_steps == 0) {
    problems.push_back(
        "schedule.initial_learning_rate: it needs schedule.warmup_steps >= 1; set the one or remove the other");
  }
  if (s.initial_learning_rate && *s.initial_learning_rate > s.learning_rate) {
    problems.push_back(fmt::format("schedule.initial_learning_rate: {} is above schedule.learning_rate {}; lower it",
                                   *s.initial_learning_rate, s.learning_rate));
  }
  if (s.final_learning_rate > s.learning_rate) {
    problems.push_back(fmt::format("schedule.final_learning_rate: {} is above schedule.learning_rate {}; lower it",
                                   s.final_learning_rate, s.learning_rate));
  }
  if (s.final_learning_rate > 0 && s.kind == ScheduleKind::Constant) {
    problems.push_back(
        "schedule.final_learning_rate: a constant schedule has none; remove it or choose another schedule.kind");
  }
  if (s.decay_end_step > 0 && !decays) {
    problems.push_back(fmt::format("schedule.decay_end_step: {} has no end of its decay; remove it", kind));
  }
  if (s.decay_end_step > 0 && decays && s.decay_end_step < s.warmup_steps) {
    problems.push_back(
        fmt::format("schedule.decay_end_step: {} lies within the {} steps of schedule.warmup_steps; raise it",
                    s.decay_end_step, s.warmup_steps));
  }
  const bool wsd = s.kind == ScheduleKind::WarmupStableDecay;
  if (wsd && s.cooldown_steps == 0)
    problems.push_back("schedule.cooldown_steps: wsd needs the length of its decay; set it");
  if (!wsd && s.cooldown_steps > 0) {
    problems.push_back(fmt::format("schedule.cooldown_steps: only wsd reads it, not {}; remove it", kind));
  }
  const int64_t end = s.decay_end_step > 0 ? s.decay_end_step : max_steps;
  if (wsd && end > 0 && s.warmup_steps + s.cooldown_steps > end) {
    problems.push_back(
        fmt::format("schedule.cooldown_steps: {} steps of warm-up and {} of decay do not fit {}; lower one",
                    s.warmup_steps, s.cooldown_steps, end));
  }
  return problems;
}

}  // namespace weft
