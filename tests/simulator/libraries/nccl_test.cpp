// SPDX-License-Identifier: Apache-2.0
// Collectives of the simulated NCCL, between ranks that are threads.
#include <gmock/gmock.h>

#include "tests/simulator/libraries/fixture/nccl_ranks.h"

namespace weft::cuda_device {
namespace {

using testing::HasSubstr;

TEST(Nccl, DoesEachCollective) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      const float r = static_cast<float>(rank.number);
      OnDevice<float> x(Floats{r, r + 10, r + 20}), y(Floats(3, -1)), all(Floats(9, -1)), part(Floats(1, -1));
      ncclAllReduce(x.p, y.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
      ncclAllGather(x.p, all.p, 3, ncclFloat32, rank.one, rank.first);
      ncclReduceScatter(x.p, part.p, 1, ncclFloat32, ncclMax, rank.one, rank.first);
      done(rank);
      EXPECT_EQ(y.on_host(), (Floats{3, 33, 63}));
      EXPECT_EQ(all.on_host(), (Floats{0, 10, 20, 1, 11, 21, 2, 12, 22}));
      EXPECT_EQ(part.on_host(), Floats{2 + 10 * r});
      ncclBroadcast(x.p, x.p, 3, ncclFloat32, 1, rank.one, rank.first);
      ncclReduce(x.p, y.p, 3, ncclFloat32, ncclAvg, 2, rank.one, rank.first);
      done(rank);
      EXPECT_EQ(x.on_host(), (Floats{1, 11, 21}));
      EXPECT_EQ(y.on_host(), rank.number == 2 ? (Floats{1, 11, 21}) : (Floats{3, 33, 63}));
    });
    EXPECT_EQ(reported(), "");
  });
}

TEST(Nccl, RoundsBf16ToItsTypeAtEachStep) {
  IN_A_PROCESS(on_three_ranks([](Rank& rank) {
    const uint16_t values[kRanks] = {0x4380, 0x3f80, 0x3f80};  // 256, 1, 1: each 1 by itself is lost to rounding
    OnDevice<uint16_t> x(std::vector<uint16_t>{values[rank.number]});
    ncclAllReduce(x.p, x.p, 1, ncclBfloat16, ncclSum, rank.one, rank.first);
    done(rank);
    EXPECT_EQ(x.on_host()[0], 0x4380);
  }));
}

TEST(Nccl, OperationsOfAStreamAreOrderedWithItsCollectives) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      OnDevice<char> x(12), y(12);
      for (int step = 0; step < 20; ++step) {
        ok(cudaMemsetAsync(x.p, 0, 12, rank.first));
        ncclAllReduce(x.p, y.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
        ok(cudaMemcpyAsync(x.p, y.p, 12, cudaMemcpyDeviceToDevice, rank.first));
      }
      done(rank);
    });
    EXPECT_EQ(reported(), "");
  });
}

// A graph that replaces x by its sum over the ranks, on a second stream that joins the capture.
cudaGraphExec_t captured_sum(const Rank& rank, float* x) {
  cudaEvent_t forked = nullptr, joined = nullptr;
  ok(cudaEventCreate(&forked));
  ok(cudaEventCreate(&joined));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t program = nullptr;
  ok(cudaStreamBeginCapture(rank.first, cudaStreamCaptureModeThreadLocal));
  ok(cudaEventRecord(forked, rank.first));
  ok(cudaStreamWaitEvent(rank.second, forked, 0));
  EXPECT_EQ(ncclAllReduce(x, x, 3, ncclFloat32, ncclSum, rank.one, rank.second), ncclSuccess);
  ok(cudaEventRecord(joined, rank.second));
  ok(cudaStreamWaitEvent(rank.first, joined, 0));
  ok(cudaStreamEndCapture(rank.first, &graph));
  ok(cudaGraphInstantiate(&program, graph, 0));
  ok(cudaGraphDestroy(graph));
  return program;
}

TEST(Nccl, ACollectiveInAGraphIsACallAtEachLaunch) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      OnDevice<float> x(Floats(3, 1));
      cudaGraphExec_t program = captured_sum(rank, x.p);
      for (int launch = 0; launch < 2; ++launch) ok(cudaGraphLaunch(program, rank.first));
      ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
      ok(cudaGraphLaunch(program, rank.first));
      done(rank);
      EXPECT_EQ(x.on_host(), Floats(3, 81));
      ok(cudaGraphExecDestroy(program));
      EXPECT_EQ(ncclCommDestroy(rank.one), ncclSuccess);
    });
    EXPECT_EQ(reported(), "");
  });
}

TEST(Nccl, ACommunicatorThatEndsBeforeItsGraphIsReported) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      OnDevice<float> x(Floats(3, 1));
      captured_sum(rank, x.p);
      ncclCommDestroy(rank.one);
    });
    EXPECT_THAT(reported(), HasSubstr("a graph still holds collectives of the communicator"));
  });
}

TEST(Nccl, ACollectiveOnAnotherStreamThanItsOperandIsARace) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      OnDevice<char> x(12);
      ok(cudaMemsetAsync(x.p, 0, 12, rank.first));
      ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.second);
      done(rank);
    });
    EXPECT_THAT(reported(), testing::AllOf(HasSubstr("race"), HasSubstr("ncclAllReduce of 3 elements")));
  });
}

TEST(Nccl, RanksThatDisagreeAreReported) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) {
      const auto* x = new OnDevice<float>(Floats(3, 1));  // freeing it would wait
      ncclAllReduce(x->p, x->p, rank.number == 1 ? 2 : 3, ncclFloat32, ncclSum, rank.one, rank.first);
      done(rank);
    });
    EXPECT_THAT(reported(), testing::AllOf(HasSubstr("ncclAllReduce of 2 elements"), HasSubstr("where rank"),
                                           HasSubstr("ncclAllReduce of 3 elements")));
  });
}

TEST(Nccl, AnOrderOfCallsThatMayHangDoesAndIsReported) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) { two_in_different_order(rank, false); }, "3");
    EXPECT_THAT(reported(), testing::AllOf(HasSubstr("deadlock"), HasSubstr("ncclAllReduce")));
  });
}
TEST(Nccl, AGroupHasNoOrder) {
  IN_A_PROCESS({
    on_three_ranks([](Rank& rank) { two_in_different_order(rank, true); });
    EXPECT_EQ(reported(), "");
  });
}

TEST(Nccl, OneThreadMayBeAllRanksInAGroup) {
  IN_A_PROCESS({
    setenv("WEFT_CUDA_DEVICE_COUNT", "2", 1);
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclComm_t ranks[2];
    ncclGroupStart();
    for (int r = 0; r < 2; ++r) {
      ok(cudaSetDevice(r));
      ncclCommInitRank(&ranks[r], 2, id, r);
    }
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    float* x[2];
    ncclGroupStart();
    for (int r = 0; r < 2; ++r) {
      const float value = static_cast<float>(r + 1);
      ok(cudaSetDevice(r));
      ok(cudaMalloc(reinterpret_cast<void**>(&x[r]), 4));
      ok(cudaMemcpy(x[r], &value, 4, cudaMemcpyHostToDevice));
      ncclAllReduce(x[r], x[r], 1, ncclFloat32, ncclSum, ranks[r], nullptr);
    }
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    for (int r = 0; r < 2; ++r) {
      float sum = 0;
      ok(cudaSetDevice(r));
      ok(cudaMemcpy(&sum, x[r], 4, cudaMemcpyDeviceToHost));
      EXPECT_EQ(sum, 3);
    }
  });
}

TEST(Nccl, ARankThatNeverComesIsNamed) {
  IN_A_PROCESS({
    setenv("WEFT_CUDA_DEVICE_PATIENCE", "2", 1);
    simulator().reports.set_policy(Reports::Policy::Collect);
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclComm_t c;
    EXPECT_EQ(ncclCommInitRank(&c, 2, id, 1), ncclSystemError);
    EXPECT_THAT(reported(), HasSubstr("of the 2 ranks of a communicator these never joined: 0"));
  });
}

TEST(Nccl, AnAbortedCommunicatorReleasesItsStreams) {
  IN_A_PROCESS(on_three_ranks([](Rank& rank) {
    OnDevice<float> x(Floats(3, 1));
    if (rank.number == 0) ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);  // only rank 0
    if (rank.number < 2) ncclCommAbort(rank.one);
    ok(cudaDeviceSynchronize());
  }));
}

// Each rank aborts by itself: a stream of another rank that waits in a collective keeps waiting; NCCL reports why.
TEST(Nccl, ARankThatAbortsIsAnErrorOfTheOthers) {
  IN_A_PROCESS(on_three_ranks([](Rank& rank) {
    OnDevice<float> x(Floats(3, 1));
    if (rank.number == 0) {
      ncclResult_t error = ncclSuccess;
      ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
      while (error == ncclSuccess) ncclCommGetAsyncError(rank.one, &error);
      EXPECT_EQ(error, ncclRemoteError);
      EXPECT_EQ(cudaStreamQuery(rank.first), cudaErrorNotReady);
      ncclCommAbort(rank.one);
    }
    if (rank.number == 1) ncclCommAbort(rank.one);
    ok(cudaDeviceSynchronize());
  }));
}

ncclConfig_t not_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

// What a communicator that does not block has taken is in no stream before it says so.
TEST(Nccl, CallsOfACommunicatorThatDoesNotBlockAreInProgressUntilItIsAsked) {
  IN_A_PROCESS({
    setenv("WEFT_CUDA_DEVICE_COUNT", "1", 1);
    ncclUniqueId id;
    ncclComm_t c = nullptr;
    ncclConfig_t config = not_blocking();
    cudaStream_t stream = new_stream();
    ncclGetUniqueId(&id);
    int in_progress = 0;
    const auto taken = [&](ncclResult_t result) {
      for (; result == ncclInProgress; ++in_progress) EXPECT_EQ(ncclCommGetAsyncError(c, &result), ncclSuccess);
      EXPECT_EQ(result, ncclSuccess);
    };
    taken(ncclCommInitRankConfig(&c, 1, id, 0, &config));
    OnDevice<float> x(Floats(3, 1));
    for (int call = 0; call < 16; ++call) {
      if (call % 2 == 1) ncclGroupStart();
      const ncclResult_t result = ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, c, stream);
      taken(call % 2 == 1 ? ncclGroupEnd() : result);
    }
    EXPECT_GT(in_progress, 8);
    ok(cudaStreamSynchronize(stream));
    ncclCommDestroy(c);
    EXPECT_EQ(reported(), "");
  });
}

TEST(Nccl, ACallWhileAnotherIsInProgressIsReported) {
  IN_A_PROCESS({
    setenv("WEFT_CUDA_DEVICE_COUNT", "1", 1);
    setenv("NCCL_COMM_BLOCKING", "0", 1);
    simulator().reports.set_policy(Reports::Policy::Collect);
    ncclUniqueId id;
    ncclComm_t c = nullptr;
    ncclGetUniqueId(&id);
    ncclResult_t state = ncclCommInitRank(&c, 1, id, 0);
    while (state == ncclInProgress) ncclCommGetAsyncError(c, &state);
    OnDevice<float> x(Floats(3, 1));
    const auto sum = [&] { return ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, c, nullptr); };
    while (sum() != ncclInProgress) {
    }
    EXPECT_EQ(sum(), ncclInvalidUsage);
    EXPECT_THAT(reported(), HasSubstr("while an earlier call of the communicator is in progress"));
    EXPECT_EQ(ncclCommAbort(c), ncclSuccess);
  });
}

// Alone, the first abort would wait for a device that waits in the other communicator.
TEST(Nccl, CommunicatorsWhoseDeviceWaitsAreAbortedInAGroup) {
  const auto aborted = [](bool grouped) {
    return [grouped](Rank& rank) {
      OnDevice<float> x(Floats(3, 1));
      if (rank.number == 0) {
        ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
        ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.two, rank.second);
      }
      if (grouped) ncclGroupStart();
      ncclCommAbort(rank.one);
      ncclCommAbort(rank.two);
      if (grouped) ncclGroupEnd();
      ok(cudaDeviceSynchronize());
    };
  };
  IN_A_PROCESS({
    on_three_ranks(aborted(true));
    EXPECT_EQ(reported(), "");
  });
  IN_A_PROCESS({
    on_three_ranks(aborted(false));
    EXPECT_THAT(reported(), HasSubstr("ncclCommAbort outside of a group"));
  });
}

TEST(Nccl, ACollectiveThatFailsNeverEndsAndIsAnAsynchronousError) {
  IN_A_PROCESS({
    setenv("WEFT_CUDA_DEVICE_COUNT", "1", 1);
    setenv("WEFT_CUDA_DEVICE_FAIL_COLLECTIVE", "2", 1);
    ncclUniqueId id;
    ncclComm_t c = nullptr;
    cudaStream_t stream = new_stream();
    ncclGetUniqueId(&id);
    EXPECT_EQ(ncclCommInitRank(&c, 1, id, 0), ncclSuccess);
    OnDevice<float> x(Floats(3, 1));
    ncclResult_t error = ncclRemoteError;
    ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, c, stream);
    ok(cudaStreamSynchronize(stream));
    ncclCommGetAsyncError(c, &error);
    EXPECT_EQ(error, ncclSuccess);
    ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, c, stream);
    while (error == ncclSuccess) {
      EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
      ncclCommGetAsyncError(c, &error);
    }
    EXPECT_EQ(error, ncclSystemError);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("rank 0"));
    ncclCommAbort(c);
    ok(cudaStreamSynchronize(stream));
  });
}

}  // namespace
}  // namespace weft::cuda_device
