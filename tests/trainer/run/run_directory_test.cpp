// SPDX-License-Identifier: Apache-2.0
// All ranks of a run see one run directory, or it does not begin.
#include "trainer/run/run_directory.h"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The error on each rank if rank r is given the directory `of_rank[r]`; "" if there is no error.
template <size_t kRanks>
std::array<std::string, kRanks> heard(const std::array<fs::path, kRanks>& of_rank) {
  std::array<std::string, kRanks> texts;
  run_in_process({.dp = static_cast<int>(kRanks)}, [&](Mesh& mesh, int rank) {
    const auto r = static_cast<size_t>(rank);
    RunDirectory directory(of_rank.at(r), mesh.world());
    directory.take(0);
    try {
      directory.require_visible(std::chrono::milliseconds(300));
    } catch (const IoError& error) {
      texts.at(r) = error.what();
    }
  });
  return texts;
}

TEST(RunDirectory, ADirectoryThatAllRanksSeeIsTaken) {
  const Scratch scratch;
  const fs::path run = scratch / "run";
  for (const std::string& text : heard<3>({run, run, run})) EXPECT_EQ(text, "");
  EXPECT_FALSE(fs::exists(run)) << "it leaves nothing behind";
}

TEST(RunDirectory, ADirectoryThatSomeRanksDoNotSeeIsRefusedByAll) {
  const Scratch scratch;
  const fs::path run = scratch / "run", other = scratch / "other";
  fs::create_directory(other);
  for (const std::string& text : heard<4>({run, other, run, scratch / "nowhere"})) {
    EXPECT_THAT(text, AllOf(HasSubstr("rank 1 (" + host_name() + "), rank 3 ("), Not(HasSubstr("rank 2"))));
  }
}

// A file server, or its client, may show a new file late.
TEST(RunDirectory, AFileThatIsSeenLateIsWaitedFor) {
  const Scratch scratch;
  const fs::path run = scratch / "run", late = scratch / "late";
  run_in_process({.dp = 2}, [&](Mesh& mesh, int rank) {
    RunDirectory directory(rank == 0 ? run : late, mesh.world());
    directory.take(0);
    std::thread server;
    if (rank == 1) {
      server = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        fs::create_directory_symlink(run, late);
      });
    }
    EXPECT_NO_THROW(directory.require_visible());
    if (server.joinable()) server.join();
  });
}

// A copy of the directory that was made while another run began holds the token of that run.
TEST(RunDirectory, AnotherRunsTokenIsNotItsOwn) {
  const Scratch scratch;
  const fs::path run = scratch / "run", copy = scratch / "copy";
  fs::create_directory(copy);
  write_file_atomically(copy / "run.visible", "0123456789abcdef");
  for (const std::string& text : heard<2>({run, copy})) EXPECT_THAT(text, HasSubstr("not seen by rank 1 ("));
}

TEST(RunDirectory, SomeOfManyBlindRanksAreNamed) {
  const Scratch scratch;
  const fs::path nowhere = scratch / "nowhere";
  const auto texts = heard<7>({scratch / "run", nowhere, nowhere, nowhere, nowhere, nowhere, nowhere});
  EXPECT_THAT(texts.at(6), AllOf(HasSubstr("rank 4 ("), Not(HasSubstr("rank 5")), HasSubstr(" and 2 others")));
}

}  // namespace
}  // namespace weft
