// SPDX-License-Identifier: Apache-2.0
#include "parallel/agree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "base/error.h"
#include "parallel/local/in_process.h"

namespace weft {
namespace {

template <class Body>
void on_three_ranks(Body&& body) {
  run_in_process({3, 1}, [&](Mesh& mesh, int rank) { body(mesh.world(), rank); });
}

TEST(Agree, RanksGetWhatRank0Found) {
  on_three_ranks([](Communicator& world, int rank) {
    EXPECT_EQ(agree(world, [&] { return "found by " + std::to_string(rank); }), "found by 0");
    EXPECT_EQ(agree(world, [] { return std::string(); }), "");
  });
}

template <class Expected>
void expect_thrown_everywhere(const Expected& thrown) {
  on_three_ranks([&](Communicator& world, int) {
    try {
      agree(world, [&]() -> std::string { throw thrown; });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Expected& error) {
      EXPECT_EQ(std::string(error.what()), thrown.what());
      EXPECT_EQ(error.code(), thrown.code());
      EXPECT_EQ(error.hint(), thrown.hint());
    }
  });
}

TEST(Agree, EveryRankThrowsTheSameError) {
  expect_thrown_everywhere(ConfigError("a key", "change it"));
  expect_thrown_everywhere(DataError("a file", ""));
  expect_thrown_everywhere(DivergenceError("a loss", "lower it"));
  expect_thrown_everywhere(MemoryError("a tensor"));
  expect_thrown_everywhere(PeerError("a rank"));
  expect_thrown_everywhere(BusyError("a directory", "wait"));
  expect_thrown_everywhere(NoProgressError("a run", "look at its log"));
  expect_thrown_everywhere(InternalError("a bug"));
}

// Ranks 1 and 2 find different errors; rank 0 finds none.
TEST(AgreeEach, TheLowestErrorIsEveryRanks) {
  on_three_ranks([](Communicator& world, int rank) {
    int done = 0;
    agree_each(world, [&] { ++done; });
    EXPECT_EQ(done, 1);
    try {
      agree_each(world, [&] {
        if (rank == 1) throw DataError("a file", "prepare it again");
        if (rank == 2) throw ConfigError("a key", "");
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const DataError& error) {
      EXPECT_STREQ(error.what(), "a file");
      EXPECT_EQ(error.hint(), "prepare it again");
    }
  });
}

TEST(Agree, OtherExceptionsGetACode) {
  on_three_ranks([](Communicator& world, int) {
    EXPECT_THROW(agree(world, []() -> std::string { throw std::runtime_error("?"); }), InternalError);
    EXPECT_THROW(agree(world, []() -> std::string { return std::to_string(std::filesystem::file_size("/nowhere")); }),
                 DataError);
  });
}

TEST(Agree, TheFirstTextIsTheLowestRanks) {
  on_three_ranks([](Communicator& world, int rank) {
    EXPECT_EQ(first_text(world, ""), "");
    EXPECT_EQ(first_text(world, rank == 0 ? "" : "rank " + std::to_string(rank)), "rank 1");
    EXPECT_EQ(first_text(world, "rank " + std::to_string(rank)), "rank 0");
  });
}

TEST(GatherOnRank0, BringsTextsOfAnyBytesAndLengths) {
  const std::vector<std::string> texts = {std::string("a\0\xff", 3), "", std::string(100'003, 'x')};
  on_three_ranks([&](Communicator& world, int rank) {
    const std::vector<std::string> got = gather_on_rank0(world, texts[static_cast<size_t>(rank)]);
    EXPECT_EQ(got, rank == 0 ? texts : std::vector<std::string>());
    EXPECT_EQ(gather_on_rank0(world, "").size(), rank == 0 ? 3u : 0u);
  });
}

}  // namespace
}  // namespace weft
