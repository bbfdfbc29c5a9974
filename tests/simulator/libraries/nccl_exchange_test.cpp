// SPDX-License-Identifier: Apache-2.0
// Sends and receives of the simulated NCCL, between ranks that are threads.
#include <gmock/gmock.h>

#include "tests/simulator/libraries/fixture/nccl_ranks.h"

namespace weft::cuda_device {
namespace {

using testing::HasSubstr;

TEST(Nccl, ExchangesInAGroup) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      OnDevice<float> x(to_each(rank.number)), y(Floats(6, -1)), sum(Floats(1, 1));
      exchange(rank, x.p, y.p, rank.first);
      ncclAllReduce(sum.p, sum.p, 1, ncclFloat32, ncclSum, rank.one, rank.first);
      done(rank);
      EXPECT_EQ(y.on_host(), from_each(rank.number));
      EXPECT_EQ(sum.on_host(), Floats{3});
    });
    EXPECT_EQ(reported(), "");
  });
}

TEST(Nccl, SeveralMessagesToARankComeInTheirOrder) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      OnDevice<float> x(Floats{1, 2, 3}), y(Floats(3, -1));
      const int next = (rank.number + 1) % kRanks, last = (rank.number + 2) % kRanks;
      ncclGroupStart();
      ncclSend(x.p, 1, ncclFloat32, next, rank.one, rank.first);
      ncclSend(x.p + 1, 2, ncclFloat32, next, rank.one, rank.first);
      ncclRecv(y.p + 2, 1, ncclFloat32, last, rank.one, rank.first);
      ncclRecv(y.p, 2, ncclFloat32, last, rank.one, rank.first);
      ncclGroupEnd();
      done(rank);
      EXPECT_EQ(y.on_host(), (Floats{2, 3, 1}));
    });
    EXPECT_EQ(reported(), "");
  });
}

TEST(Nccl, AnExchangeInAGraphIsACallAtEachLaunch) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      OnDevice<float> x(to_each(rank.number)), y(Floats(6, -1));
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t program = nullptr;
      ok(cudaStreamBeginCapture(rank.first, cudaStreamCaptureModeThreadLocal));
      exchange(rank, x.p, y.p, rank.first);
      exchange(rank, y.p, x.p, rank.first);
      ok(cudaStreamEndCapture(rank.first, &graph));
      ok(cudaGraphInstantiate(&program, graph, 0));
      for (int launch = 0; launch < 2; ++launch) ok(cudaGraphLaunch(program, rank.first));
      done(rank);
      EXPECT_EQ(y.on_host(), from_each(rank.number));
      EXPECT_EQ(x.on_host(), to_each(rank.number));
      ok(cudaGraphExecDestroy(program));
      ok(cudaGraphDestroy(graph));
    });
    EXPECT_EQ(reported(), "");
  });
}

TEST(Nccl, ReceivedDataIsOrderedByItsStreamOnly) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      OnDevice<float> x(to_each(rank.number)), y(Floats(6, -1)), z(Floats(6, -1));
      exchange(rank, x.p, y.p, rank.first);
      ok(cudaMemcpyAsync(z.p, y.p, 24, cudaMemcpyDeviceToDevice, rank.second));
      done(rank);
    });
    EXPECT_THAT(reported(), testing::AllOf(HasSubstr("race"), HasSubstr("ncclSend and ncclRecv of a group")));
  });
}

TEST(Nccl, SendsAndReceivesThatDoNotFitAreReported) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      const auto *x = new OnDevice<float>(Floats(6, 1)), *y = new OnDevice<float>(Floats(6, 2));  // freeing would wait
      exchange(rank, x->p, y->p, rank.first, rank.number == 1 ? 1 : 2);
      done(rank);
    });
    EXPECT_THAT(reported(), HasSubstr("rank 0 sends 2 elements of type 7 to rank 1, which receives 1 elements of type "
                                      "7 from it"));
  });
}

TEST(Nccl, ASendBesideACollectiveIsReported) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      const auto *x = new OnDevice<float>(Floats(6, 1)), *y = new OnDevice<float>(Floats(6, 2));
      if (rank.number == 1)
        ncclAllReduce(x->p, x->p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
      else
        exchange(rank, x->p, y->p, rank.first);
      done(rank);
    });
    EXPECT_THAT(reported(), testing::AllOf(HasSubstr("calls ncclSend and ncclRecv of a group where rank 1"),
                                           HasSubstr("calls ncclAllReduce of 3 elements")));
  });
}

TEST(Nccl, AnAbortedExchangeReleasesItsStream) {
  IN_A_PROCESS(on_three_ranks([](Rank& rank) {
    OnDevice<float> x(Floats(6, 1)), y(Floats(6, 2));
    if (rank.number == 0) {
      ncclResult_t error = ncclSuccess;
      exchange(rank, x.p, y.p, rank.first);
      while (error == ncclSuccess) ncclCommGetAsyncError(rank.one, &error);
      EXPECT_EQ(error, ncclRemoteError);
    }
    if (rank.number < 2) ncclCommAbort(rank.one);
    ok(cudaDeviceSynchronize());
  }));
}

TEST(Nccl, AnExchangeThatARankDoesNotMakeIsADeadlock) {
  IN_A_PROCESS({
    on_three_ranks(
        [](Rank& rank) {
          const auto *x = new OnDevice<float>(Floats(6, 1)), *y = new OnDevice<float>(Floats(6, 2));
          if (rank.number != 2) exchange(rank, x->p, y->p, rank.first);
          cudaStreamSynchronize(rank.first);
        },
        "3");
    EXPECT_THAT(reported(), testing::AllOf(HasSubstr("deadlock"), HasSubstr("ncclSend and ncclRecv of a group")));
  });
}

TEST(Nccl, ASendOutsideOfAGroupIsNotSimulated) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(on_three_ranks([](Rank& rank) {
                OnDevice<float> x(Floats(6, 1));
                ncclSend(x.p, 1, ncclFloat32, 0, rank.one, rank.first);
              }),
              testing::ExitedWithCode(86), "ncclSend or ncclRecv outside of a group is not simulated");
}

}  // namespace
}  // namespace weft::cuda_device
