// SPDX-License-Identifier: Apache-2.0
// The reports and refusals of a run that resumes, and what it stores.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/config/reader.h"
#include "job/changes.h"
#include "job/migration.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/logs/metrics.h"
#include "trainer/run/provenance.h"

namespace weft {
namespace {

using namespace test;

std::vector<std::string> keys_of(const std::vector<ConfigChange>& changes) {
  std::vector<std::string> keys;
  for (const ConfigChange& change : changes) keys.push_back(change.key);
  return keys;
}

TEST(ResumeChanges, IrrelevantKeysAreOnlyReported) {
  for (const char* key : {"name", "run_dir", "log.every_steps", "checkpoint.keep_last", "parallel.tp",
                          "batch.micro_batch_tokens", "train.recompute", "train.attention", "train.init_from",
                          "evaluation.every_steps", "data.train.files", "data.directory", "model.init_std"}) {
    EXPECT_FALSE(changes_training(key)) << key;
  }
  for (const char* key : {"seed", "task", "schedule.learning_rate", "schedule.kind", "batch.sequences", "batch.tokens",
                          "train.max_steps", "train.max_epochs", "train.clip_norm", "train.label_smoothing",
                          "train.precision", "optimizer.beta1", "model.norm_placement", "model.dropout.residual",
                          "model.initial", "data.weight", "data.mixture", "train.z_loss"}) {
    EXPECT_TRUE(changes_training(key)) << key;
  }
}

TEST(ResumeChanges, OverrideNamesKeysOrSections) {
  JobConfig before, now;
  now.schedule.learning_rate = 0.5, now.schedule.warmup_steps = 9, now.batch.sequences = 7, now.log.every_steps = 77;
  now.allow_changes = {"schedule.warmup_steps", "batch"};
  const ResumeChanges changes = resume_changes(before, now);
  EXPECT_EQ(keys_of(changes.harmless), std::vector<std::string>{"log.every_steps"});
  EXPECT_EQ(keys_of(changes.allowed), (std::vector<std::string>{"batch.sequences", "schedule.warmup_steps"}));
  EXPECT_EQ(keys_of(changes.refused), std::vector<std::string>{"schedule.learning_rate"});
  EXPECT_FALSE(overrides(now, "schedule.initial_learning_rate"));  // a longer key with the same beginning
}

TEST(Fingerprint, DifferencesAreNamedAndAnOlderOneLacksNames) {
  using Json = nlohmann::ordered_json;
  const Json now = {{"threads", 2}, {"attention", "blocks 48 x 128"}, {"precision", "fp32"}};
  EXPECT_EQ(fingerprint_differences(now, now), "");
  EXPECT_EQ(fingerprint_differences({{"precision", "fp32"}, {"threads", 2}, {"attention", "blocks 48 x 128"}}, now),
            "");
  EXPECT_EQ(fingerprint_differences({{"precision", "fp32"}, {"threads", 2}}, now),
            "attention: not stored, now blocks 48 x 128");
  EXPECT_EQ(fingerprint_differences({{"threads", 1}, {"attention", "blocks 48 x 64"}, {"other", 3}}, now),
            "threads: 1, now 2; attention: blocks 48 x 64, now blocks 48 x 128; precision: not stored, now fp32; "
            "other: 3, now not stored");
}

TEST(ResumeChanges, TheRefusalNamesTheChangesAndTheOverride) {
  EXPECT_NO_THROW(refuse_changes({}, "step-3"));
  const std::string text = error_of([] {
    refuse_changes({{"schedule.learning_rate", "0.001", "0.1"}, {"train.max_steps", "5", "9"}}, "runs/a/step-3");
  });
  EXPECT_NE(text.find("runs/a/step-3"), std::string::npos) << text;
  EXPECT_NE(text.find("schedule.learning_rate: 0.001 -> 0.1"), std::string::npos) << text;
  EXPECT_NE(text.find("train.max_steps: 5 -> 9"), std::string::npos) << text;
  EXPECT_NE(text.find("'allow_changes=[schedule.learning_rate, train.max_steps]'"), std::string::npos) << text;
  EXPECT_NE(text.find("--set 'train.max_steps=5'"), std::string::npos) << text;
}

TEST(ResumeChanges, OverrideOfAnUnknownKeyIsRefused) {
  JobConfig job;
  job.allow_changes = {"schedule.lerning_rate", "schedule"};
  std::string found;
  for (const std::string& problem : job_problems(job)) {
    if (problem.find("allow_changes") == 0) found += problem;
  }
  EXPECT_EQ(found,
            "allow_changes: 'schedule.lerning_rate' is not a key of a job; did you mean 'schedule.learning_rate'?");
}

// Checkpoints of earlier builds stay readable.
TEST(StoredJob, OldFormsKeepTheirMeaning) {
  EXPECT_EQ(parse_stored_job("train: {recompute: true}", "old").train.recompute, Recompute::Block);
  EXPECT_EQ(parse_stored_job("train: {recompute: false}", "old").train.recompute, Recompute::None);
  EXPECT_EQ(parse_stored_job("train: {recompute: attention}", "new").train.recompute, Recompute::Attention);
  EXPECT_EQ(parse_stored_job("name: x", "short", {"train.max_steps=7"}).train.max_steps, 7);
  EXPECT_NE(error_of([] {
              parse_stored_job("train: {recompute: 3}", "step-3/manifest.json");
            }).find("step-3/manifest.json:1:20: train.recompute"),
            std::string::npos);
}

class Resume : public testing::Test {
 protected:
  // A run of 8 steps, and the directory of another run that holds only its checkpoint of step 3.
  void SetUp() override {
    straight_.train();
    stopped_.job() = straight_.job();
    stopped_.job().run_dir = (scratch_ / "stopped").string();
    begin_again();
  }
  void begin_again() {
    fs::remove_all(stopped_.directory());
    fs::create_directories(stopped_.directory() / "checkpoints");
    fs::copy(straight_.checkpoint(3), stopped_.checkpoint(3), fs::copy_options::recursive);
  }
  std::vector<double> rates(const SmallRun& run) const {
    std::vector<double> rates;
    for (const auto& line : read_metrics(run.directory(), "train")) rates.push_back(line["lr"].get<double>());
    return rates;
  }
  std::string refusal() {
    return error_of([&] { stopped_.train(); });
  }

  Scratch scratch_;
  SmallRun straight_{scratch_};
  SmallRun stopped_{scratch_, "other"};
};

TEST_F(Resume, HasTheRatesAndWeightsOfTheUninterruptedRun) {
  const TrainResult result = stopped_.train();
  EXPECT_EQ(result.step, 8);
  const std::vector<double> all = rates(straight_), rest = rates(stopped_);
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(rest, std::vector<double>(all.begin() + 3, all.end()));
  EXPECT_EQ(tensor_hashes(stopped_.checkpoint(8)), tensor_hashes(straight_.checkpoint(8)));
  // The next step's rate is part of the state.
  EXPECT_EQ(read_checkpoint_manifest(straight_.checkpoint(3)).state["next_learning_rate"].get<double>(), all[3]);
}

TEST_F(Resume, IrrelevantKeysMayChange) {
  stopped_.job().batch.micro_batch_tokens = 8;
  stopped_.job().log.every_steps = 2;
  stopped_.job().checkpoint.every_steps = 0;
  EXPECT_EQ(stopped_.train().step, 8);
}

TEST_F(Resume, AChangedScheduleBatchOrLengthIsRefusedAndNothingIsTouched) {
  const auto expect_refused = [&](const std::string& key, auto&& change) {
    const JobConfig kept = stopped_.job();
    change(stopped_.job());
    EXPECT_NE(refusal().find(key + ": "), std::string::npos) << key;
    EXPECT_THROW(stopped_.train(), ConfigError) << key;
    EXPECT_FALSE(fs::exists(stopped_.directory() / "job.yaml")) << key;
    EXPECT_FALSE(fs::exists(stopped_.directory() / "metrics.jsonl")) << key;
    EXPECT_EQ(list_checkpoints(stopped_.directory() / "checkpoints").size(), 1u) << key;
    stopped_.job().allow_changes = {key};
    EXPECT_EQ(stopped_.train().step, stopped_.job().train.max_steps) << key;
    begin_again();
    stopped_.job() = kept;
  };
  expect_refused("schedule.learning_rate", [](JobConfig& job) { job.schedule.learning_rate = 2e-2; });
  expect_refused("schedule.kind", [](JobConfig& job) { job.schedule.kind = ScheduleKind::Linear; });
  expect_refused("batch.sequences", [](JobConfig& job) { job.batch.sequences = 2; });
  expect_refused("train.max_steps", [](JobConfig& job) { job.train.max_steps = 10; });
  expect_refused("seed", [](JobConfig& job) { job.seed = 99; });
}

TEST_F(Resume, OtherBatchesContinueAfterTheSameShareOfTheEpoch) {
  // Three steps of 4 windows are six steps of 2.
  stopped_.job().batch.sequences = 2;
  stopped_.job().train.max_steps = 4;
  stopped_.job().allow_changes = {"batch", "train.max_steps"};
  EXPECT_EQ(stopped_.train().step, 4);
  const RunState state = stopped_.state_at(4);
  EXPECT_EQ(state.position, (Position{0, 7}));
}

TEST_F(Resume, ALearningRateThatChangesIsSaid) {
  const std::string says = "the learning rate of the next step is";
  const auto said = [&] {
    testing::internal::CaptureStderr();
    stopped_.train();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said().find(says), std::string::npos);
  begin_again();
  stopped_.job().schedule.learning_rate = 2e-2;
  stopped_.job().allow_changes = {"schedule.learning_rate"};
  EXPECT_NE(said().find(says), std::string::npos);
}

// Neither the job nor what it may change says why: the warning does.
TEST_F(Resume, ALearningRateThatChangesWithoutAChangedJobIsAWarning) {
  CheckpointManifest manifest = read_checkpoint_manifest(stopped_.checkpoint(3));
  auto& rate = manifest.state.at("next_learning_rate");
  rate = 2 * rate.get<double>();
  write_file_atomically(stopped_.checkpoint(3) / kCheckpointManifest, checkpoint_manifest_text(manifest));
  testing::internal::CaptureStderr();
  stopped_.train();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("though its settings are the same"), std::string::npos);
}

TEST_F(Resume, AFinishedRunHasNothingToDo) {
  const auto before = fs::last_write_time(straight_.directory() / "job.yaml");
  testing::internal::CaptureStderr();
  EXPECT_EQ(straight_.train().exit, ExitCode::Done);
  straight_.job().train.max_steps = 5;  // fewer steps than were done: none remains
  const TrainResult result = straight_.train();
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(result.exit, ExitCode::Done);
  EXPECT_EQ(result.step, 8);
  EXPECT_EQ(result.max_steps, 5);
  EXPECT_EQ(fs::last_write_time(straight_.directory() / "job.yaml"), before);
}

TEST_F(Resume, AnotherTokenizerIsRefused) {
  SmallRun other(scratch_, "digits", "0123456789 0123456789 0123456789 9876543210 0123456789 0123456789 0123456789");
  stopped_.job().data.directory = other.job().data.directory;
  stopped_.job().allow_changes = {"data.directory"};  // allows other text, but not other meanings of ids
  const std::string text = refusal();
  EXPECT_NE(text.find("was made with another tokenizer"), std::string::npos) << text;
  EXPECT_NE(text.find("data.tokenizer_file"), std::string::npos) << text;
}

TEST_F(Resume, AnotherTextIsRefusedUnlessOverridden) {
  std::string text = SmallRun::sample_text();
  std::reverse(text.begin(), text.end());  // the characters stay the same
  SmallRun other(scratch_, "reversed", text);
  stopped_.job().data.directory = other.job().data.directory;
  const std::string message = refusal();
  EXPECT_NE(message.find("holds another training text"), std::string::npos) << message;
  stopped_.job().allow_changes = {"data.directory"};
  EXPECT_EQ(stopped_.train().step, 8);
}

TEST_F(Resume, CheckpointAndRunDirectoryRecordTheirOrigin) {
  SmallRun run(scratch_, "told");
  run.train({}, {.version = "9.9", .revision = "abc123-dirty", .overrides = {"model.width=16"}});
  const auto stored = read_checkpoint_manifest(run.checkpoint(8)).provenance;
  EXPECT_EQ(stored["version"], "9.9");
  EXPECT_EQ(stored["revision"], "abc123-dirty");
  EXPECT_EQ(stored["overrides"][0], "model.width=16");
  for (const char* library : {"HDF5", "MPI", "oneDNN", "yaml-cpp"}) {
    for (const char* when : {"compiled", "loaded"}) {
      const auto version = stored["libraries"][library][when].get<std::string>();
      EXPECT_NE(version.find_first_of("0123456789"), std::string::npos) << library << " " << when << " " << version;
    }
  }
  const auto file = nlohmann::ordered_json::parse(read_file(run.directory() / "run.json"));
  EXPECT_EQ(file["provenance"], stored);
  EXPECT_EQ(to_yaml(parse_config<JobConfig>(read_file(run.directory() / "job.yaml"), "job.yaml")), to_yaml(run.job()));
  EXPECT_EQ(read_metrics(run.directory(), "start").at(0)["provenance"], stored);
  const std::string text = describe_provenance(stored);
  EXPECT_NE(text.find("weft 9.9, revision abc123-dirty"), std::string::npos) << text;
  EXPECT_NE(text.find("--set model.width=16"), std::string::npos) << text;
  EXPECT_NE(text.find("HDF5: compiled with 1."), std::string::npos) << text;
  EXPECT_EQ(describe_provenance(nullptr), "");  // early checkpoints have no provenance
  EXPECT_NO_THROW(describe_provenance({{"libraries", {{"HDF5", 3}}}, {"overrides", {1}}}));
}

}  // namespace
}  // namespace weft
