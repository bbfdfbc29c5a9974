#include <gmock/gmock.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/cuda_device/libraries/device_test.h"

namespace weft::cuda_device {
namespace {

using testing::HasSubstr;
using Floats = std::vector<float>;

constexpr int kRanks = 3;

// Three devices, and a thread of the host for each. Each case is a process, since settings are read once.
struct Rank {
  int number;
  ncclComm_t one = nullptr, two = nullptr;  // two communicators of the same ranks
  cudaStream_t first = nullptr, second = nullptr;
};
void on_three_ranks(const std::function<void(Rank&)>& body, const char* patience = "60") {
  setenv("WEFT_CUDA_DEVICE_COUNT", "3", 1);
  setenv("WEFT_CUDA_DEVICE_PATIENCE", patience, 1);
  simulator().reports.set_policy(Reports::Policy::Collect);
  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids) EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (int number = 0; number < kRanks; ++number)
    threads.emplace_back([&, number] {
      Rank rank{number};
      ok(cudaSetDevice(number));
      EXPECT_EQ(ncclCommInitRank(&rank.one, kRanks, ids[0], number), ncclSuccess);
      EXPECT_EQ(ncclCommInitRank(&rank.two, kRanks, ids[1], number), ncclSuccess);
      rank.first = new_stream(), rank.second = new_stream();
      body(rank);
    });
  for (std::thread& thread : threads) thread.join();
}
std::string reported() {
  std::string text;
  for (const Report& report : simulator().reports.all()) text += report.sentence + "\n";
  return text;
}

// The case of a test, in a process that must end well and say nothing.
#define IN_A_PROCESS(...)                               \
  testing::GTEST_FLAG(death_test_style) = "threadsafe"; \
  EXPECT_EXIT(                                          \
      {                                                 \
        __VA_ARGS__;                                    \
        _exit(testing::Test::HasFailure());             \
      },                                                \
      testing::ExitedWithCode(0), "")

void done(const Rank& rank) {
  ok(cudaStreamSynchronize(rank.first));
  ok(cudaStreamSynchronize(rank.second));
}

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
    const uint16_t values[kRanks] = {0x4380, 0x3f80, 0x3f80};  // 256, 1, 1: each 1 is lost by itself
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

// x += x summed over the ranks, on a second stream that joins the capture.
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

// Two elements from each rank to each, of which `each` are sent.
void exchange(const Rank& rank, const float* from, float* to, cudaStream_t stream, size_t each = 2) {
  ncclGroupStart();
  for (int peer = 0; peer < kRanks; ++peer) {
    const size_t at = static_cast<size_t>(peer) * 2;
    EXPECT_EQ(ncclSend(from + at, each, ncclFloat32, peer, rank.one, stream), ncclSuccess);
    EXPECT_EQ(ncclRecv(to + at, each, ncclFloat32, peer, rank.one, stream), ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
}
Floats to_each(int rank) {
  const float r = 10 * static_cast<float>(rank);
  return {r, -r, r + 1, -r - 1, r + 2, -r - 2};
}
Floats from_each(int rank) {
  const float r = static_cast<float>(rank);
  return {r, -r, r + 10, -r - 10, r + 20, -r - 20};
}

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

TEST(Nccl, WhatIsReceivedIsReadInTheOrderOfItsStreamAlone) {
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

TEST(Nccl, AnAbortedExchangeLetsItsStreamGo) {
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

// Rank 2 calls in the other order: on streams of its own each call could run, but a device may wait within the first.
void two_in_different_order(Rank& rank, bool grouped) {
  const auto *x = new OnDevice<float>(Floats(3, 1)), *y = new OnDevice<float>(Floats(3, 2));  // freeing would wait
  if (grouped) ncclGroupStart();
  for (const int turn : {0, 1}) {
    if ((turn == 0) == (rank.number == 2))
      ncclAllReduce(x->p, x->p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
    else
      ncclAllReduce(y->p, y->p, 3, ncclFloat32, ncclSum, rank.two, rank.second);
  }
  if (grouped) ncclGroupEnd();
  cudaStreamSynchronize(rank.first);
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

TEST(Nccl, AnAbortedCommunicatorLetsItsStreamsGo) {
  IN_A_PROCESS(on_three_ranks([](Rank& rank) {
    OnDevice<float> x(Floats(3, 1));
    if (rank.number == 0) ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);  // alone
    if (rank.number < 2) ncclCommAbort(rank.one);
    ok(cudaDeviceSynchronize());
  }));
}

// Each rank aborts for itself: a stream of another that waits in a collective goes on waiting, and NCCL says why.
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

// Ranks that are processes, one on each device. `body` returns whether all is well; `messages[r]` is a pipe to rank r.
struct Pipe {
  int ends[2];
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  template <class T>
  void put(const T& value) const {
    EXPECT_EQ(write(ends[1], &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class T>
  T take() const {
    T value{};
    EXPECT_EQ(read(ends[0], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
};
using Pipes = std::array<Pipe, kRanks>;
void on_three_processes(const std::function<void(Rank&, const Pipes&)>& body, const char* patience = "60") {
  setenv("WEFT_CUDA_DEVICE_COUNT", "3", 1);
  setenv("WEFT_CUDA_DEVICE_PATIENCE", patience, 1);
  const Pipes messages;
  std::vector<pid_t> processes;
  for (int number = 0; number < kRanks; ++number) {
    processes.push_back(fork());
    if (processes.back() > 0) continue;
    simulator().reports.set_policy(Reports::Policy::Collect);
    Rank rank{number};
    ok(cudaSetDevice(number));
    for (ncclComm_t* c : {&rank.one, &rank.two}) {
      ncclUniqueId id;
      if (number == 0) {
        EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
        for (int other = 1; other < kRanks; ++other) messages[static_cast<size_t>(other)].put(id);
      } else {
        id = messages[static_cast<size_t>(number)].take<ncclUniqueId>();
      }
      EXPECT_EQ(ncclCommInitRank(c, kRanks, id, number), ncclSuccess);
    }
    rank.first = new_stream(), rank.second = new_stream();
    body(rank, messages);
    _exit(testing::Test::HasFailure());
  }
  for (const pid_t process : processes) {
    int status = 0;
    EXPECT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
}

TEST(NcclProcesses, DoEachCollective) {
  IN_A_PROCESS(on_three_processes([](Rank& rank, const Pipes&) {
    const float r = static_cast<float>(rank.number);
    OnDevice<float> x(Floats{r, r + 10, r + 20}), y(Floats(3, -1)), all(Floats(9, -1)), part(Floats(1, -1));
    for (int round = 0; round < 100; ++round) {  // more than are kept of those on their way
      ncclAllReduce(x.p, y.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
      ncclAllGather(x.p, all.p, 3, ncclFloat32, rank.two, rank.second);
    }
    ncclReduceScatter(x.p, part.p, 1, ncclFloat32, ncclMax, rank.one, rank.first);
    done(rank);
    EXPECT_EQ(y.on_host(), (Floats{3, 33, 63}));
    EXPECT_EQ(all.on_host(), (Floats{0, 10, 20, 1, 11, 21, 2, 12, 22}));
    EXPECT_EQ(part.on_host(), Floats{2 + 10 * r});
    ncclBroadcast(x.p, x.p, 3, ncclFloat32, 1, rank.one, rank.first);
    EXPECT_EQ(ncclCommDestroy(rank.one), ncclSuccess);  // ends what is under way
    done(rank);
    EXPECT_EQ(x.on_host(), (Floats{1, 11, 21}));
    EXPECT_EQ(reported(), "");
  }));
}

TEST(NcclProcesses, ExchangeInAGroup) {
  IN_A_PROCESS(on_three_processes([](Rank& rank, const Pipes&) {
    OnDevice<float> x(to_each(rank.number)), y(Floats(6, -1));
    for (int round = 0; round < 33; ++round) {  // twice: more than are kept of those on their way
      exchange(rank, x.p, y.p, rank.first);
      exchange(rank, y.p, x.p, rank.first);
    }
    exchange(rank, x.p, y.p, rank.first);
    done(rank);
    EXPECT_EQ(y.on_host(), from_each(rank.number));
    EXPECT_EQ(reported(), "");
  }));
}

TEST(NcclProcesses, ThatSendWhatNobodyReceivesAreReported) {
  IN_A_PROCESS(on_three_processes([](Rank& rank, const Pipes&) {
    OnDevice<float> x(Floats(6, 1)), y(Floats(6, 2));
    exchange(rank, x.p, y.p, rank.first, rank.number == 2 ? 1 : 2);
    done(rank);
    EXPECT_THAT(reported(), testing::ContainsRegex("sends [12] elements of type 7 to rank [012], which receives"));
  }));
}

// On a real device it would be sent.
TEST(NcclProcesses, WhatAHostHasCalledIsSentAlsoWhereItDoesNotWait) {
  IN_A_PROCESS(on_three_processes([](Rank& rank, const Pipes& messages) {
    OnDevice<float> x(Floats(3, 1));
    ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
    if (rank.number == 2) messages[2].take<char>();  // until rank 0 has its sum
    done(rank);
    EXPECT_EQ(x.on_host(), (Floats(3, 3)));
    if (rank.number == 0) messages[2].put('x');
  }));
}

TEST(NcclProcesses, ThatDisagreeAreReported) {
  IN_A_PROCESS(on_three_processes([](Rank& rank, const Pipes&) {
    OnDevice<float> x(Floats(3, 1));
    ncclAllReduce(x.p, x.p, rank.number == 1 ? 2 : 3, ncclFloat32, ncclSum, rank.one, rank.first);
    done(rank);
    EXPECT_THAT(reported(), testing::AllOf(HasSubstr("ncclAllReduce of 2 elements"), HasSubstr("where rank"),
                                           HasSubstr("ncclAllReduce of 3 elements")));
  }));
}

TEST(NcclProcesses, ThatEnqueueInDifferentOrderDeadlockAndSayWhereEachIs) {
  IN_A_PROCESS(on_three_processes(
      [](Rank& rank, const Pipes&) {
        two_in_different_order(rank, false);
        EXPECT_THAT(reported(), testing::AllOf(HasSubstr("deadlock"), HasSubstr("rank 2 (process "),
                                               HasSubstr("has called 1 and done 0, and waits in ncclAllReduce")));
      },
      "3"));
}

TEST(NcclProcesses, OneThatDiesIsAnErrorOfTheOthersAndIsNamed) {
  IN_A_PROCESS(on_three_processes(
      [](Rank& rank, const Pipes&) {
        if (rank.number == 1) _exit(0);
        OnDevice<float> x(Floats(3, 1));
        ncclResult_t error = ncclRemoteError;
        ncclCommGetAsyncError(rank.one, &error);
        EXPECT_EQ(error, ncclSuccess);  // nothing that it would be missed in
        ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
        EXPECT_NE(cudaStreamSynchronize(rank.first), cudaSuccess);
        ncclCommGetAsyncError(rank.one, &error);
        EXPECT_EQ(error, ncclRemoteError);
        EXPECT_THAT(reported(), testing::ContainsRegex("rank 1 \\(process [0-9]+, device 1, which has ended\\)"));
        _exit(testing::Test::HasFailure());  // what would be waited for cannot be
      },
      "3"));
}

void two_processes_on_one_device(bool with_names) {
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  setenv("WEFT_CUDA_DEVICE_COUNT", "2", 1);
  setenv("WEFT_CUDA_DEVICE_PATIENCE", "2", 1);
  const Pipe to_second, to_first;
  const pid_t first = fork();
  simulator().reports.set_policy(Reports::Policy::Collect);
  if (with_names) setenv("NCCL_HOSTID", first == 0 ? "one" : "two", 1);
  ncclUniqueId id;
  ncclComm_t c;
  if (first == 0) {
    ncclGetUniqueId(&id);
    to_second.put(id);
    EXPECT_EQ(ncclCommInitRank(&c, 2, id, 0) == ncclSuccess, with_names);
    to_first.take<char>();  // the id is gone with this process
    _exit(testing::Test::HasFailure());
  }
  id = to_second.take<ncclUniqueId>();
  EXPECT_EQ(ncclCommInitRank(&c, 2, id, 1) == ncclSuccess, with_names);
  to_first.put('x');
  int status = 0;
  waitpid(first, &status, 0);
  EXPECT_EQ(status, 0);
}
TEST(NcclProcesses, ASecondOneOfADeviceIsRefusedUnlessItSaysThatItsHostIsAnother) {
  IN_A_PROCESS(two_processes_on_one_device(false));
  IN_A_PROCESS(two_processes_on_one_device(true));
}

}  // namespace
}  // namespace weft::cuda_device
