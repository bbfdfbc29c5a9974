// SPDX-License-Identifier: Apache-2.0
// The simulated NCCL between ranks that are processes.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>

#include "tests/simulator/libraries/fixture/nccl_ranks.h"

namespace weft::cuda_device {
namespace {

using testing::HasSubstr;

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
    for (int round = 0; round < 100; ++round) {  // more calls than are kept while under way
      ncclAllReduce(x.p, y.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
      ncclAllGather(x.p, all.p, 3, ncclFloat32, rank.two, rank.second);
    }
    ncclReduceScatter(x.p, part.p, 1, ncclFloat32, ncclMax, rank.one, rank.first);
    done(rank);
    EXPECT_EQ(y.on_host(), (Floats{3, 33, 63}));
    EXPECT_EQ(all.on_host(), (Floats{0, 10, 20, 1, 11, 21, 2, 12, 22}));
    EXPECT_EQ(part.on_host(), Floats{2 + 10 * r});
    ncclBroadcast(x.p, x.p, 3, ncclFloat32, 1, rank.one, rank.first);
    EXPECT_EQ(ncclCommDestroy(rank.one), ncclSuccess);  // waits for calls that are under way
    done(rank);
    EXPECT_EQ(x.on_host(), (Floats{1, 11, 21}));
    EXPECT_EQ(reported(), "");
  }));
}

TEST(NcclProcesses, ExchangeInAGroup) {
  IN_A_PROCESS(on_three_processes([](Rank& rank, const Pipes&) {
    OnDevice<float> x(to_each(rank.number)), y(Floats(6, -1));
    for (int round = 0; round < 33; ++round) {  // two collectives each: more than are kept while under way
      exchange(rank, x.p, y.p, rank.first);
      exchange(rank, y.p, x.p, rank.first);
    }
    exchange(rank, x.p, y.p, rank.first);
    done(rank);
    EXPECT_EQ(y.on_host(), from_each(rank.number));
    EXPECT_EQ(reported(), "");
  }));
}

TEST(NcclProcesses, UnreceivedMessagesAreReported) {
  IN_A_PROCESS(on_three_processes([](Rank& rank, const Pipes&) {
    OnDevice<float> x(Floats(6, 1)), y(Floats(6, 2));
    exchange(rank, x.p, y.p, rank.first, rank.number == 2 ? 1 : 2);
    done(rank);
    EXPECT_THAT(reported(), testing::ContainsRegex("sends [12] elements of type 7 to rank [012], which receives"));
  }));
}

// A real device would send the call of rank 2 before its host waits for it.
TEST(NcclProcesses, CallsAreSentEvenIfTheHostDoesNotWait) {
  IN_A_PROCESS(on_three_processes([](Rank& rank, const Pipes& messages) {
    OnDevice<float> x(Floats(3, 1));
    ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
    if (rank.number == 2) messages[2].take<char>();  // until rank 0 has its sum
    done(rank);
    EXPECT_EQ(x.on_host(), (Floats(3, 3)));
    if (rank.number == 0) messages[2].put('x');
  }));
}

TEST(NcclProcesses, DisagreeingRanksAreReported) {
  IN_A_PROCESS(on_three_processes([](Rank& rank, const Pipes&) {
    OnDevice<float> x(Floats(3, 1));
    ncclAllReduce(x.p, x.p, rank.number == 1 ? 2 : 3, ncclFloat32, ncclSum, rank.one, rank.first);
    done(rank);
    EXPECT_THAT(reported(), testing::AllOf(HasSubstr("ncclAllReduce of 2 elements"), HasSubstr("where rank"),
                                           HasSubstr("ncclAllReduce of 3 elements")));
  }));
}

TEST(NcclProcesses, DifferentOrdersDeadlockWithAReportOfEachRank) {
  IN_A_PROCESS(on_three_processes(
      [](Rank& rank, const Pipes&) {
        two_in_different_order(rank, false);
        EXPECT_THAT(reported(), testing::AllOf(HasSubstr("deadlock"), HasSubstr("rank 2 (process "),
                                               HasSubstr("has called 1 and done 0, and waits in ncclAllReduce")));
      },
      "3"));
}

TEST(NcclProcesses, ADeadRankIsAnErrorOfTheOthersAndIsNamed) {
  IN_A_PROCESS(on_three_processes(
      [](Rank& rank, const Pipes&) {
        if (rank.number == 1) _exit(0);
        OnDevice<float> x(Floats(3, 1));
        ncclResult_t error = ncclRemoteError;
        ncclCommGetAsyncError(rank.one, &error);
        EXPECT_EQ(error, ncclSuccess);  // no collective is under way for which it would be missed
        ncclAllReduce(x.p, x.p, 3, ncclFloat32, ncclSum, rank.one, rank.first);
        EXPECT_NE(cudaStreamSynchronize(rank.first), cudaSuccess);
        ncclCommGetAsyncError(rank.one, &error);
        EXPECT_EQ(error, ncclRemoteError);
        EXPECT_THAT(reported(), testing::ContainsRegex("rank 1 \\(process [0-9]+, device 1, which has ended\\)"));
        _exit(testing::Test::HasFailure());  // destructors would wait for a collective that cannot end
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
    to_first.take<char>();  // the id ends with this process
    _exit(testing::Test::HasFailure());
  }
  id = to_second.take<ncclUniqueId>();
  EXPECT_EQ(ncclCommInitRank(&c, 2, id, 1) == ncclSuccess, with_names);
  to_first.put('x');
  int status = 0;
  waitpid(first, &status, 0);
  EXPECT_EQ(status, 0);
}
TEST(NcclProcesses, ASecondRankOfADeviceIsRefusedUnlessOnAnotherHost) {
  IN_A_PROCESS(two_processes_on_one_device(false));
  IN_A_PROCESS(two_processes_on_one_device(true));
}

}  // namespace
}  // namespace weft::cuda_device
