// SPDX-License-Identifier: Apache-2.0
// A run that is trained again and compared with what it saved.
#include "trainer/verification.h"

#include <gmock/gmock.h>

#include <map>
#include <regex>

#include "checkpoint/locate.h"
#include "tests/support/changed_checkpoint.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/recorded_saves.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A run of 8 steps that saved steps 3, 6 and 8.
class Verify : public testing::Test {
 protected:
  void SetUp() override {
    run_.job().evaluation.every_steps = 2, run_.job().checkpoint.keep_best = false;
    run_.train();
  }

  struct Outcome {
    ExitCode exit = ExitCode::Done;
    std::string out;
  };
  Outcome verify(const Segment& segment = {}, int threads = 1) {
    Context context(Device{}, threads);
    Mesh mesh = Mesh::single();
    testing::internal::CaptureStdout();
    Outcome outcome;
    try {
      outcome.exit = verify_run(context, mesh, run_.job(), segment);
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    outcome.out = testing::internal::GetCapturedStdout();
    return outcome;
  }
  std::string refusal(const Segment& segment = {}, int threads = 1) {
    return error_of([&] { verify(segment, threads); });
  }

  std::string digest(int64_t step) const {
    return hash_hex(read_checkpoint_manifest(run_.checkpoint(step)).digest.value());
  }
  std::string line(int64_t step) const { return fmt::format("step {}: {}, as saved\n", step, digest(step)); }

  // Content and time of every file of the run.
  std::map<std::string, std::pair<uint64_t, fs::file_time_type>> files() const {
    std::map<std::string, std::pair<uint64_t, fs::file_time_type>> all;
    for (const auto& entry : fs::recursive_directory_iterator(run_.directory())) {
      if (!entry.is_regular_file()) continue;
      all[entry.path()] = {hash64(read_file(entry.path())), entry.last_write_time()};
    }
    return all;
  }

  // Makes the run's log say what earlier builds wrote: no digests.
  void forget_logged_digests() const {
    const fs::path log = run_.directory() / "metrics.jsonl";
    write_file_atomically(log, std::regex_replace(read_file(log), std::regex(R"("digest":"[0-9a-f]*",)"), ""));
  }
  void forget_digest(int64_t step) const {
    CheckpointManifest manifest = read_checkpoint_manifest(run_.checkpoint(step));
    manifest.digest.reset();
    write_file_atomically(manifest_path(run_.checkpoint(step)), checkpoint_manifest_text(manifest));
  }
  // A tensor all of whose elements have gradients.
  std::string tensor() const {
    for (const auto& [name, shape] : Checkpoint::open(run_.checkpoint(3)).tensors()) {
      if (name.find("ffn.down") != std::string::npos && shape.rank() == 2) return name;
    }
    throw InternalError("there is no such tensor");
  }

  Scratch scratch_;
  SmallRun run_{scratch_};
};

TEST_F(Verify, ASoundRunIsTheSameAndIsNotTouched) {
  const auto before = files();
  const Outcome all = verify();
  EXPECT_EQ(all.exit, ExitCode::Done);
  EXPECT_EQ(all.out, line(3) + line(6) + line(8));
  EXPECT_EQ(verify({.from = "0"}).out, all.out);
  EXPECT_EQ(verify({.from = "6"}).out, line(6) + line(8));
  EXPECT_EQ(verify({.from = run_.checkpoint(3).string(), .to = 7}).out, line(3) + line(6));
  EXPECT_EQ(files(), before);
}

// Retention removes checkpoints; the log has their digests.
TEST_F(Verify, ASaveWhoseCheckpointIsGoneIsCompared) {
  const std::string expected = line(3) + line(6) + line(8);
  fs::remove_all(run_.checkpoint(3));
  fs::remove_all(run_.checkpoint(6));
  EXPECT_EQ(verify({.from = "0"}).out, expected);
  EXPECT_THAT(refusal({.from = "3"}), HasSubstr("there is no checkpoint of step 3"));
}

TEST_F(Verify, ABitOfAWeightOrAMomentAtTheBeginningIsFound) {
  for (const char* buffer : {"master", "moment1", "moment2"}) {
    flip_soundly(run_.checkpoint(3), buffer, tensor());
    const Outcome found = verify();
    EXPECT_EQ(found.exit, ExitCode::Differs);
    EXPECT_THAT(found.out, AllOf(testing::StartsWith("step 3: "), HasSubstr("but " + digest(3) + " was saved"),
                                 Not(HasSubstr("step 6"))));
    flip_soundly(run_.checkpoint(3), buffer, tensor());  // as it was
  }
  EXPECT_EQ(verify().exit, ExitCode::Done);
}

// Without a digest of the beginning the first save after it tells, and names the tensors.
TEST_F(Verify, TheFirstSaveThatDiffersNamesItsTensors) {
  forget_logged_digests();
  forget_digest(3);
  flip_soundly(run_.checkpoint(3), "moment2", tensor());
  const Outcome found = verify();
  EXPECT_EQ(found.exit, ExitCode::Differs);
  EXPECT_THAT(found.out, AllOf(HasSubstr("step 6: "), HasSubstr("but " + digest(6) + " was saved"),
                               HasSubstr("  master of " + tensor() + ": "), Not(HasSubstr("step 8"))));
}

TEST_F(Verify, OtherCountersDiffer) {
  forget_logged_digests();
  forget_digest(3);
  CheckpointManifest manifest = read_checkpoint_manifest(run_.checkpoint(3));
  manifest.state["skips"] = 1;
  write_file_atomically(manifest_path(run_.checkpoint(3)), checkpoint_manifest_text(manifest));
  EXPECT_THAT(verify().out, HasSubstr("was saved\n  the position or the counters of the run differ\n"));
}

TEST_F(Verify, OtherNumericsAreRefusedWithWhatToStart) {
  EXPECT_THAT(refusal({}, 2), AllOf(HasSubstr("step 6 was trained with other numerics (threads: 1, now 2)")));
  EXPECT_EQ(verify({.from = "0"}).exit, ExitCode::Done);
}

TEST_F(Verify, ARollbackInTheSegmentIsRefused) {
  const fs::path log = run_.directory() / "metrics.jsonl";
  write_file_atomically(log, read_file(log) + R"({"run":"x","attempt":0,"event":"roll_back","step":6,"from_step":7})"
                                              "\n");
  EXPECT_THAT(refusal(), HasSubstr("the run rolled back to step 6"));
  EXPECT_EQ(verify({.to = 6}).out, line(3) + line(6));
}

TEST_F(Verify, WhatCannotBeComparedIsRefused) {
  EXPECT_THAT(refusal({.from = "8"}), HasSubstr("no digest was saved after step 8"));
  EXPECT_THAT(refusal({.from = "3", .to = 5}), HasSubstr("no digest was saved after step 3 and up to step 5"));
  EXPECT_THAT(refusal({.from = "4"}), HasSubstr("there is no checkpoint of step 4"));
  EXPECT_THAT(refusal({.from = "nowhere"}), HasSubstr("nowhere: not a committed checkpoint"));
  for (const int64_t step : {3, 6, 8}) forget_digest(step);
  EXPECT_EQ(verify().exit, ExitCode::Done);  // the log has them
  forget_logged_digests();
  EXPECT_THAT(refusal(), HasSubstr("no digest was saved after step 3"));
}

TEST_F(Verify, ALogThatContradictsACheckpointIsDamage) {
  CheckpointManifest manifest = read_checkpoint_manifest(run_.checkpoint(6));
  *manifest.digest += 1;
  write_file_atomically(manifest_path(run_.checkpoint(6)), checkpoint_manifest_text(manifest));
  EXPECT_THAT(refusal(), HasSubstr("but metrics.jsonl says that"));
}

// Each save names the one before it, also across a resumption.
TEST_F(Verify, SavesAreAChain) {
  run_.job().train.max_steps = 10;
  run_.job().allow_changes = {"train.max_steps"};
  run_.train();
  EXPECT_FALSE(read_checkpoint_manifest(run_.checkpoint(3)).save_before);
  int64_t before = 3;
  for (const int64_t step : {6, 8, 9, 10}) {
    const auto named = read_checkpoint_manifest(run_.checkpoint(step)).save_before;
    ASSERT_TRUE(named) << step;
    EXPECT_EQ(named->step, before);
    EXPECT_EQ(hash_hex(named->digest), digest(before));
    before = step;
  }
  std::vector<std::string> logged;
  for (const auto& event : read_metrics(run_.directory(), "save")) logged.push_back(event["digest"]);
  EXPECT_EQ(logged, (std::vector{digest(3), digest(6), digest(8), digest(9), digest(10)}));
}

TEST_F(Verify, SupersededSavesDoNotCount) {
  const std::string old = digest(8);
  run_.job().seed = 99;  // other data from step 6 on
  run_.job().allow_changes = {"seed"};
  run_.train({.kind = ResumeChoice::Kind::Path, .path = run_.checkpoint(6)});
  const std::vector<RecordedSave> saves = recorded_saves(run_.directory());
  ASSERT_EQ(saves.size(), 3u);
  EXPECT_EQ(hash_hex(saves.back().digest.value()), digest(8));
  EXPECT_NE(digest(8), old);
  EXPECT_EQ(verify({.from = "6"}).out, line(6) + line(8));
}

}  // namespace
}  // namespace weft
