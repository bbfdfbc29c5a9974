// SPDX-License-Identifier: Apache-2.0
#include "job/renamed_keys.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/config/reader.h"
#include "base/config/writer.h"
#include "base/error.h"
#include "job/changes.h"
#include "job/job.h"
#include "job/migration.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

// The job as a checkpoint of an earlier version stores it.
const std::string kOld = R"(name: old
task: translation
data:
  directory: prepared
  format: tsv
  train: {files: [pairs.tsv]}
  documents: line
  max_source: 40
  max_target: 41
  long_rows: truncate
  max_unknown: 0.1
model: {encoder_layers: 2, norm: post, init_deviation: 0.05}
batch: {tokens: 500, count: padded, order: bucketed, groups: 2, context: 7, last: drop, micro_tokens: 100}
schedule: {kind: wsd, warmup: 10, warmup_from: 1e-7, final_rate: 1e-5, decay_until: 90, cooldown: 20}
train: {max_steps: 100, max_skips: 3}
checkpoint: {keep: 5, pinned: [20, 40]}
evaluation: {metric: bleu, bleu: {max_pairs: 7, tokenizer: zh, lowercase: false}}
parallel: {zero: 1, bucket_mib: 2.5}
timeouts: {init: 1, step: 2, save: 3, evaluate: 4}
log: {every_steps: 5, samples: {every_steps: 9, prompts: [a], max_tokens: 8}}
override: [schedule.warmup, log.samples.prompts, train.max_steps]
)";

const std::string kNew = R"(name: old
task: translation
data:
  directory: prepared
  format: tsv
  train: {files: [pairs.tsv]}
  document_delimiter: line
  max_source_tokens: 40
  max_target_tokens: 41
  overlong_pairs: truncate
  max_unknown_fraction: 0.1
model: {encoder_layers: 2, norm_placement: post, init_std: 0.05}
batch: {tokens: 500, token_count: padded, order: bucketed, buckets_per_step: 2, context_length: 7, drop_last: true,
        micro_batch_tokens: 100}
schedule: {kind: wsd, warmup_steps: 10, initial_learning_rate: 1e-7, final_learning_rate: 1e-5, decay_end_step: 90,
           cooldown_steps: 20}
train: {max_steps: 100, max_nonfinite_steps: 3}
checkpoint: {keep_last: 5, keep_steps: [20, 40]}
evaluation: {metric: bleu, translation: {max_pairs: 7, settings: [tokenizer=zh]}}
parallel: {zero_stage: 1, gradient_bucket_mib: 2.5}
timeouts: {init_seconds: 1, step_seconds: 2, save_seconds: 3, evaluate_seconds: 4}
log: {every_steps: 5, generations: {every_steps: 9, prompts: [a], max_tokens: 8}}
allow_changes: [schedule.warmup_steps, log.generations.prompts, train.max_steps]
)";

std::string error_of_job(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  Scratch scratch;
  const fs::path path = scratch.path() / "job.yaml";
  write_file_atomically(path, yaml);
  try {
    load_job(path.string(), overrides);
  } catch (const ConfigError& error) {
    std::string text = error.what();
    for (size_t at; (at = text.find(scratch.path().string() + "/")) != std::string::npos;) {
      text.erase(at, scratch.path().string().size() + 1);
    }
    return text;
  }
  return "no error";
}

TEST(RenamedKeys, LeadFromNoKeyToAKeyOfTheSameSection) {
  const std::vector<std::string> keys = config_keys<JobConfig>();
  const auto section = [](std::string_view key) { return key.substr(0, key.rfind('.') + 1); };
  for (const RenamedKey& key : renamed_job_keys()) {
    EXPECT_EQ(std::ranges::count(keys, key.before), 0) << key.before;
    EXPECT_EQ(std::ranges::count(keys, key.now), 1) << key.now;
    EXPECT_EQ(section(key.before), section(key.now));
  }
}

TEST(RenamedKeys, AStoredJobIsReadUnderTheNewNames) {
  // Every key of the table is in the text.
  for (const RenamedKey& key : renamed_job_keys()) {
    EXPECT_NE(kOld.find(std::string(key.before.substr(key.before.rfind('.') + 1)) + ":"), std::string::npos)
        << key.before;
  }
  const JobConfig old = parse_stored_job(kOld, "manifest.json");
  EXPECT_EQ(to_yaml(old), to_yaml(parse_config<JobConfig>(kNew, "job.yaml")));
  EXPECT_EQ(old.log.generations.max_tokens, 8);
  EXPECT_TRUE(old.batch.drop_last);
  EXPECT_FALSE(parse_stored_job("batch: {last: keep}", "manifest.json").batch.drop_last);
  EXPECT_EQ(to_yaml(parse_stored_job(to_yaml(old), "manifest.json")), to_yaml(old));
}

TEST(RenamedKeys, AStoredJobEqualsTheSameJobUnderTheNewNames) {
  const ResumeChanges changes =
      resume_changes(parse_stored_job(kOld, "manifest.json"), parse_config<JobConfig>(kNew, "job.yaml"));
  EXPECT_TRUE(changes.refused.empty() && changes.allowed.empty() && changes.harmless.empty());
}

TEST(RenamedKeys, AnOldKeyInAJobFileIsAnErrorThatNamesTheNewKey) {
  EXPECT_EQ(error_of_job("name: x\nparallel:\n  bucket_mib: 4\nbatch: {last: drop}\n"),
            "job.yaml:3:3: parallel.bucket_mib was renamed: write parallel.gradient_bucket_mib\n"
            "job.yaml:4:9: batch.last was renamed: write batch.drop_last: true");
  EXPECT_EQ(error_of_job("log: {samples: {every_steps: 3}}\n"),
            "job.yaml:1:7: log.samples was renamed: write log.generations");
  EXPECT_EQ(error_of_job("checkpoint: {keep: 3, keep_last: 4}\n"),
            "job.yaml:1:14: checkpoint.keep was renamed: write checkpoint.keep_last");
  EXPECT_EQ(error_of_job("data: 3\n", {"schedule.warmup=7"}),
            "--set schedule.warmup=7: schedule.warmup was renamed: write schedule.warmup_steps\n"
            "job.yaml:1:7: data: expected a section (keys with values), got 3 (an integer)");
}

TEST(RenamedKeys, AnOverrideOfAStoredJobUsesTheNewNames) {
  EXPECT_EQ(parse_stored_job(kOld, "manifest.json", {"schedule.warmup_steps=3"}).schedule.warmup_steps, 3);
  try {
    parse_stored_job(kOld, "manifest.json", {"schedule.warmup=3"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "--set schedule.warmup=3: schedule.warmup was renamed: write schedule.warmup_steps");
  }
}

TEST(RenamedKeys, AllowChangesNamesTheNewKeys) {
  JobConfig job;
  job.allow_changes = {"schedule.warmup", "log.samples.prompts", "override"};
  std::vector<std::string> found = job_problems(job);
  std::erase_if(found, [](const std::string& problem) { return !problem.starts_with("allow_changes"); });
  EXPECT_EQ(found,
            (std::vector<std::string>{"allow_changes: 'schedule.warmup' was renamed: write schedule.warmup_steps",
                                      "allow_changes: 'log.samples.prompts' was renamed: write log.generations.prompts",
                                      "allow_changes: 'override' was renamed: write allow_changes"}));
}

}  // namespace
}  // namespace weft
