// SPDX-License-Identifier: Apache-2.0
#include "job/renamed_keys.h"

#include <algorithm>
#include <array>
#include <vector>

#include "data/prepare/config.h"

namespace weft {
namespace {

constexpr auto kDropLast = std::to_array<RenamedKey::ValuePair>({{"keep", "false"}, {"drop", "true"}});

constexpr auto kRenamed = std::to_array<RenamedKey>({
    {"model.norm", "model.norm_placement"},
    {"model.init_deviation", "model.init_std"},
    {"batch.count", "batch.token_count"},
    {"batch.groups", "batch.buckets_per_step"},
    {"batch.context", "batch.context_length"},
    {"batch.last", "batch.drop_last", kDropLast},
    {"batch.micro_tokens", "batch.micro_batch_tokens"},
    {"schedule.warmup", "schedule.warmup_steps"},
    {"schedule.warmup_from", "schedule.initial_learning_rate"},
    {"schedule.final_rate", "schedule.final_learning_rate"},
    {"schedule.decay_until", "schedule.decay_end_step"},
    {"schedule.cooldown", "schedule.cooldown_steps"},
    {"train.max_skips", "train.max_nonfinite_steps"},
    {"checkpoint.keep", "checkpoint.keep_last"},
    {"checkpoint.pinned", "checkpoint.keep_steps"},
    {"parallel.zero", "parallel.zero_stage"},
    {"parallel.bucket_mib", "parallel.gradient_bucket_mib"},
    {"evaluation.bleu", "evaluation.translation"},
    {"timeouts.init", "timeouts.init_seconds"},
    {"timeouts.step", "timeouts.step_seconds"},
    {"timeouts.save", "timeouts.save_seconds"},
    {"timeouts.evaluate", "timeouts.evaluate_seconds"},
    {"log.samples", "log.generations"},
    {"override", "allow_changes"},
});

constexpr auto with_data_keys() {
  std::array<RenamedKey, kRenamed.size() + kRenamedDataKeys.size()> all{};
  const auto rest = std::ranges::copy(kRenamed, all.begin()).out;
  std::ranges::copy(kRenamedDataKeys, rest);
  return all;
}

constexpr auto kAll = with_data_keys();

}  // namespace

RenamedKeys renamed_job_keys() { return kAll; }

}  // namespace weft
