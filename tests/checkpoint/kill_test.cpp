// SPDX-License-Identifier: Apache-2.0
// Whenever a save is killed, a complete checkpoint is found that is no older than the one before.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "checkpoint/retention.h"
#include "checkpoint/run_state.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

// Resumes from the latest checkpoint and saves step after step, on two ranks, until it is killed; prints each committed
// step.
void save_for_ever(const fs::path& directory, int committed) {
  clear_unfinished(directory);
  const auto latest = latest_valid(directory);
  const int64_t first = latest ? latest->manifest().step + 1 : 1;
  run_in_process({2, 1}, [&](Mesh& mesh, int rank) {
    Context context;
    ParameterRegistry registry(context, mesh);
    declare(registry);
    CheckpointWriter writer(directory, context, mesh.world());
    for (int64_t step = first;; ++step) {
      for (float& x : registry.master().data.span<float>()) x = static_cast<float>(step);
      writer.start({.step = step, .state = to_json(RunState{}), .attachments = {{"tokenizer.json", "{}"}}},
                   owned_arrays(registry, std::vector<NamedBuffer>{{"master", registry.master()}}));
      writer.finish();
      if (rank != 0) continue;
      if (write(committed, &step, sizeof step) != sizeof step) _exit(1);
      apply_retention(directory, {.keep_last = 1});
    }
  });
}

// The number of kills: WEFT_KILLS, or 25, which is few enough for every day.
int kills() {
  const char* text = std::getenv("WEFT_KILLS");
  return text ? std::atoi(text) : 25;
}

TEST(Kill, ACompleteCheckpointSurvivesAnyInstant) {
  const Scratch scratch;
  std::mt19937 random(11);
  int64_t last = 0;
  int unfinished = 0;
  for (int i = 0; i < kills(); ++i) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      save_for_ever(scratch.path(), ends[1]);
      _exit(0);
    }
    close(ends[1]);
    int64_t step = 0;
    ASSERT_EQ(read(ends[0], &step, sizeof step), static_cast<ssize_t>(sizeof step)) << "nothing was saved";
    // The run resumed from the latest checkpoint, or from one that the kill left complete except for its name.
    ASSERT_GE(step, last + 1) << "it did not resume from the latest";
    ASSERT_LE(step, last + 2) << "it did not resume from the latest";
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    last = step;
    while (read(ends[0], &step, sizeof step) == static_cast<ssize_t>(sizeof step)) last = step;
    close(ends[0]);
    for (const auto& entry : fs::directory_iterator(scratch.path())) unfinished += entry.path().extension() == ".tmp";

    const auto found = latest_valid(scratch.path());
    ASSERT_TRUE(found) << "after kill " << i;
    // A kill after a commit and before the step was printed leaves a checkpoint that is one step newer.
    EXPECT_GE(found->manifest().step, last);
    EXPECT_LE(found->manifest().step, last + 1);
    last = found->manifest().step;
    Context context;
    const Tensor norm = context.empty({7}, DType::F32);
    found->read(context, {{"master", "norm", {7}, {0}, norm}});
    for (const float x : norm.span<float>()) EXPECT_EQ(x, static_cast<float>(last));
  }
  if (kills() >= 25) {
    EXPECT_GT(unfinished, 0) << "no kill came in the middle of a save";
  }
}

}  // namespace
}  // namespace weft
