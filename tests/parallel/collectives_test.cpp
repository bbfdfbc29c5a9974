// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "parallel/local/in_process.h"

namespace weft {
namespace {

class Collectives : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  MeshLayout layout() const { return {.dp = GetParam().first, .tp = GetParam().second}; }
};

TEST_P(Collectives, SumMaximumScatterGatherBroadcast) {
  run_in_process(layout(), [&](Mesh& mesh, int world_rank) {
    EXPECT_EQ(mesh.world().rank(), world_rank);
    EXPECT_EQ(mesh.dp().rank() * mesh.tp().size() + mesh.tp().rank(), world_rank);
    Context context;
    for (Communicator* c : {&mesh.world(), &mesh.dp(), &mesh.tp()}) {
      const int n = c->size(), me = c->rank();
      const Tensor sum = context.empty({3}, DType::F32), most = context.empty({1}, DType::I64);
      for (int i = 0; i < 3; ++i) sum.data<float>()[i] = static_cast<float>(me + i);
      most.data<int64_t>()[0] = 7 * me;
      c->all_reduce(sum);
      c->all_reduce(most, ReduceOp::Max);
      const int ranks = n * (n - 1) / 2;
      for (int i = 0; i < 3; ++i) EXPECT_EQ(sum.data<float>()[i], static_cast<float>(ranks + n * i));
      EXPECT_EQ(most.data<int64_t>()[0], 7 * (n - 1));

      const Tensor whole = context.empty({2 * n}, DType::F64), mine = context.empty({2}, DType::F64);
      for (int i = 0; i < 2 * n; ++i) whole.data<double>()[i] = i + 100 * me;
      c->reduce_scatter(whole, mine);
      EXPECT_EQ(mine.data<double>()[1], n * (2 * me + 1) + 100 * ranks);
      // In place: the input is the rank's own piece of the result.
      const Tensor gathered = context.empty({2 * n}, DType::F64);
      gathered.data<double>()[2 * me] = me, gathered.data<double>()[2 * me + 1] = -me;
      c->all_gather(gathered.slice(2 * me, 2 * me + 2), gathered);
      for (int r = 0; r < n; ++r) EXPECT_EQ(gathered.data<double>()[2 * r + 1], -r);

      const Tensor theirs = context.empty({2 * n}, DType::F64);
      c->all_to_all(whole, theirs);
      for (int r = 0; r < n; ++r) EXPECT_EQ(theirs.data<double>()[2 * r + 1], 2 * me + 1 + 100 * r);

      EXPECT_EQ(c->broadcast_text(me == n - 1 ? "from the last rank" : "", n - 1), "from the last rank");
      EXPECT_EQ(c->broadcast_text("", 0), "");
      double host[2] = {1.0 * me, 1};
      c->all_reduce_host(host, ReduceOp::Sum);
      EXPECT_EQ(host[1], n);
      const std::vector<double> all = c->gather_host(std::vector<double>{1.0 * me, -1});
      ASSERT_EQ(all.size(), me == 0 ? 2 * static_cast<size_t>(n) : 0);
      for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i % 2 == 0 ? static_cast<double>(i / 2) : -1);
      c->barrier();
      const Traffic& traffic = c->traffic();
      EXPECT_EQ(traffic[Collective::AllReduce].calls, 3);
      EXPECT_EQ(traffic[Collective::AllReduce].bytes, 12 + 8 + 16);
      EXPECT_DOUBLE_EQ(traffic[Collective::AllReduce].moved, 2.0 * (n - 1) / n * 36);
      EXPECT_DOUBLE_EQ(traffic[Collective::ReduceScatter].moved, (n - 1) * 16.0);
      EXPECT_DOUBLE_EQ(traffic[Collective::AllGather].moved, (n - 1) * 32.0);
      EXPECT_DOUBLE_EQ(traffic[Collective::AllToAll].moved, (n - 1) * 16.0);
      EXPECT_EQ(traffic[Collective::Barrier].calls, 1);
      EXPECT_EQ(traffic.total().moved > 0, n > 1);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, Collectives,
                         testing::Values(std::pair{1, 1}, std::pair{2, 1}, std::pair{4, 1}, std::pair{1, 2},
                                         std::pair{2, 2}, std::pair{4, 2}, std::pair{3, 1}, std::pair{4, 4}));

TEST(InProcess, EveryRankHoldsTheSameBits) {
  std::vector<std::vector<float>> seen(4);
  run_in_process({.dp = 4}, [&](Mesh& mesh, int rank) {
    Context context;
    const Tensor t = context.empty({1000}, DType::F32);
    for (int i = 0; i < 1000; ++i) t.data<float>()[i] = 0.1f * static_cast<float>(rank * 31 + i);
    mesh.dp().all_reduce(t);
    seen[rank].assign(t.data<float>(), t.data<float>() + 1000);
  });
  for (int r = 1; r < 4; ++r) EXPECT_EQ(seen[r], seen[0]);
}

TEST(InProcess, AFailingRankEndsTheOthersAndItsErrorComesOut) {
  std::atomic<int> peers = 0;
  try {
    run_in_process({.dp = 3}, [&](Mesh& mesh, int rank) {
      if (rank == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        throw DataError("rank 1 has no data");
      }
      try {
        mesh.world().barrier();
      } catch (const PeerError&) {
        ++peers;
        throw;
      }
    });
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "rank 1 has no data");
  }
  EXPECT_EQ(peers, 2);
}

TEST(InProcess, MismatchNamesAxisAndRanks) {
  try {
    run_in_process({.dp = 2}, [&](Mesh& mesh, int rank) {
      Context context;
      mesh.dp().all_reduce(context.zeros({rank + 1}, DType::F32));
    });
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("over dp"), std::string::npos) << error.what();
  }
}

TEST(InProcess, ARankThatNeverComesIsATimeout) {
  EXPECT_THROW(run_in_process({.dp = 2},
                              [](Mesh& mesh, int rank) {
                                if (rank == 0) mesh.world().barrier();
                              },
                              {.timeout_seconds = 0.2}),
               PeerError);
}

}  // namespace
}  // namespace weft
