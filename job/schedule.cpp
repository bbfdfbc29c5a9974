#include "job/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {
namespace {

double warmup_rate(const ScheduleConfig& s, int64_t step) {
  const auto warmup = static_cast<double>(s.warmup);
  const double from = s.warmup_from.value_or(s.learning_rate / (warmup + 1));
  return from + (s.learning_rate - from) * static_cast<double>(step) / warmup;
}

// How much of [begin, end] lies before `step`, 0 to 1; an empty interval has passed.
double progress(int64_t step, int64_t begin, int64_t end) {
  if (step >= end) return 1;
  if (step <= begin) return 0;
  return static_cast<double>(step - begin) / static_cast<double>(end - begin);
}

double towards(double from, double to, double ratio) { return from + (to - from) * ratio; }

}  // namespace

double learning_rate(const ScheduleConfig& s, int64_t step, int64_t max_steps) {
  if (step < s.warmup) return warmup_rate(s, step);
  const int64_t end = s.decay_until > 0 ? s.decay_until : max_steps;
  switch (s.kind) {
    case ScheduleKind::Constant:
      return s.learning_rate;
    case ScheduleKind::Linear:
      return towards(s.learning_rate, s.final_rate, progress(step, s.warmup, end));
    case ScheduleKind::Cosine: {
      const double ratio = progress(step, s.warmup, end);
      return towards(s.final_rate, s.learning_rate, 0.5 * (1 + std::cos(std::numbers::pi * ratio)));
    }
    case ScheduleKind::InverseSqrt: {
      const auto warmup = static_cast<double>(std::max<int64_t>(s.warmup, 1));
      const auto at = static_cast<double>(std::max<int64_t>(step, 1));
      return std::max(s.final_rate, s.learning_rate * std::sqrt(warmup / at));
    }
    case ScheduleKind::WarmupStableDecay:
      return towards(s.learning_rate, s.final_rate, progress(step, std::max(s.warmup, end - s.cooldown), end));
  }
  return s.learning_rate;
}

std::vector<std::string> schedule_problems(const ScheduleConfig& s, int64_t max_steps) {
  std::vector<std::string> problems;
  const std::string_view kind = enum_name(s.kind);
  const bool decays =
      s.kind == ScheduleKind::Linear || s.kind == ScheduleKind::Cosine || s.kind == ScheduleKind::WarmupStableDecay;
  if (s.learning_rate <= 0) problems.push_back("schedule.learning_rate: it is 0, nothing would be learnt; raise it");
  if (max_steps > 0 && s.warmup > max_steps) {
    problems.push_back(
        fmt::format("schedule.warmup: {} steps do not fit the {} of train.max_steps; lower it", s.warmup, max_steps));
  }
  if (s.warmup_from && s.warmup == 0) {
    problems.push_back("schedule.warmup_from: it needs schedule.warmup >= 1; set the one or remove the other");
  }
  if (s.warmup_from && *s.warmup_from > s.learning_rate) {
    problems.push_back(fmt::format("schedule.warmup_from: {} is above schedule.learning_rate {}; lower it",
                                   *s.warmup_from, s.learning_rate));
  }
  if (s.final_rate > s.learning_rate) {
    problems.push_back(fmt::format("schedule.final_rate: {} is above schedule.learning_rate {}; lower it", s.final_rate,
                                   s.learning_rate));
  }
  if (s.final_rate > 0 && s.kind == ScheduleKind::Constant) {
    problems.push_back("schedule.final_rate: a constant schedule has none; remove it or choose another schedule.kind");
  }
  if (s.decay_until > 0 && !decays) {
    problems.push_back(fmt::format("schedule.decay_until: {} has no end of its decay; remove it", kind));
  }
  if (s.decay_until > 0 && decays && s.decay_until < s.warmup) {
    problems.push_back(fmt::format("schedule.decay_until: {} lies within the {} steps of schedule.warmup; raise it",
                                   s.decay_until, s.warmup));
  }
  const bool wsd = s.kind == ScheduleKind::WarmupStableDecay;
  if (wsd && s.cooldown == 0) problems.push_back("schedule.cooldown: wsd needs the length of its decay; set it");
  if (!wsd && s.cooldown > 0) {
    problems.push_back(fmt::format("schedule.cooldown: only wsd reads it, not {}; remove it", kind));
  }
  const int64_t end = s.decay_until > 0 ? s.decay_until : max_steps;
  if (wsd && end > 0 && s.warmup + s.cooldown > end) {
    problems.push_back(fmt::format("schedule.cooldown: {} steps of warm-up and {} of decay do not fit {}; lower one",
                                   s.warmup, s.cooldown, end));
  }
  return problems;
}

}  // namespace weft
