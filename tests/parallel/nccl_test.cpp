// SPDX-License-Identifier: Apache-2.0
// Every collective over NCCL, between threads that each have a different CUDA device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "kernels/ops/elementwise.h"
#include "parallel/local/in_process.h"
#include "parallel/nccl/communicator.h"
#include "tests/parallel/fixture.h"
#include "tests/support/cuda_devices.h"

namespace weft {
namespace {

using namespace test;

void on_devices(const MeshLayout& layout, const std::function<void(Mesh& mesh, Context& context)>& body) {
  if (const std::string lacks = lacks_devices(layout.ranks()); !lacks.empty()) GTEST_SKIP() << lacks;
  run_hosts_in_process(layout, [&](const MakeHostPlane& host, int rank) {
    Context context({DeviceKind::Cuda, rank});
    Mesh mesh = nccl_mesh(layout, rank, host, context);
    body(mesh, context);
  });
}

TEST(NcclCollectives, AreRightOnEveryAxisOfEveryMesh) {
  for (const MeshLayout layout : {MeshLayout{.dp = 2}, {.tp = 2}, {.dp = 3}, {.dp = 2, .tp = 2}, {.tp = 4}}) {
    on_devices(layout, [&](Mesh& mesh, Context& context) {
      ASSERT_EQ(mesh.dp().rank() * layout.tp + mesh.tp().rank(), mesh.world().rank());
      for (Communicator* c : {&mesh.dp(), &mesh.tp()}) {
        if (c->size() > 1) check_all(context, *c);
      }
    });
  }
}

TEST(NcclCollectives, OverlapOneAnother) {
  on_devices({.dp = 3}, [](Mesh& mesh, Context& context) { check_overlap(context, mesh); });
}

// The collective reads the result of the operation before it, and the operation after it reads that of the collective.
TEST(NcclCollectives, OperationsComeBeforeAndAfter) {
  on_devices({.dp = 2}, [](Mesh& mesh, Context& context) {
    const Tensor sum = context.empty({5000}, DType::F32), twice = context.zeros({5000}, DType::F32);
    for (int round = 1; round <= 5; ++round) {
      fill(context, sum, round * (1 + mesh.dp().rank()));
      mesh.dp().all_reduce(sum);
      add_scaled(context, sum, 2, twice);
    }
    expect(
        context, twice, [](int64_t) { return 2 * 3 * (1 + 2 + 3 + 4 + 5); }, "twice the sums");
  });
}

// Each rank adds the parts that the other ranks have sent, after they have arrived.
TEST(NcclCollectives, Bf16SumsAreAddedWhenAllPartsHaveCome) {
  on_devices({.tp = 3}, [](Mesh& mesh, Context& context) {
    check_bf16_sums(context, mesh.tp());
    check_rounded_sums(context, mesh.tp());
  });
}

// The tensor's memory goes back to the pool, and to the next tensor of that size.
TEST(NcclCollectives, AWorkThatIsDroppedStillComesBeforeWhatFollows) {
  on_devices({.dp = 2}, [](Mesh& mesh, Context& context) {
    for (int round = 0; round < 5; ++round) {
      {
        const Tensor t = filled(context, 100'000, DType::F32, mesh.dp().rank());
        const auto dropped = mesh.dp().start_all_reduce(t, ReduceOp::Sum);
      }
      const Tensor next = context.empty({100'000}, DType::F32);
      fill(context, next, round);
      expect(
          context, next, [&](int64_t) { return round; }, "the tensor after it");
    }
  });
}

// Calls that NCCL has only taken are in no stream yet, and what follows would come before them.
TEST(NcclCollectives, AreInTheirStreamsThoughTheCommunicatorDoesNotBlock) {
  setenv("NCCL_COMM_BLOCKING", "0", 1);
  for (const MeshLayout layout : {MeshLayout{.dp = 3}, {.dp = 2, .tp = 2}}) {
    on_devices(layout, [&](Mesh& mesh, Context& context) {
      for (Communicator* c : {&mesh.dp(), &mesh.tp()}) {
        if (c->size() > 1) check_all(context, *c);
      }
    });
  }
  on_devices({.dp = 3}, [](Mesh& mesh, Context& context) { check_overlap(context, mesh); });
  unsetenv("NCCL_COMM_BLOCKING");
}

// A tensor that is freed while its collective is under way leaves its memory to the collective.
TEST(NcclCollectives, AWorkKeepsItsTensors) {
  on_devices({.dp = 2}, [](Mesh& mesh, Context& context) {
    const Tensor gathered = context.empty({20'000}, DType::F32);
    auto gather = mesh.dp().start_all_gather(filled(context, 10'000, DType::F32, mesh.dp().rank()), gathered);
    const Tensor next = context.empty({10'000}, DType::F32);
    fill(context, next, 100);
    gather->wait();
    expect(
        context, gathered, [](int64_t i) { return value(static_cast<int>(i / 10'000), i % 10'000); }, "gather");
  });
}

TEST(NcclCollectives, EveryRankHoldsTheSameBits) {
  std::vector<std::vector<double>> seen(4);
  on_devices({.dp = 4}, [&](Mesh& mesh, Context& context) {
    const int rank = mesh.dp().rank();
    const Tensor t = context.empty({1000}, DType::F32);
    put(context, t, [rank](int64_t i) { return 0.1 * static_cast<double>(rank * 31 + i); });
    mesh.dp().all_reduce(t);
    seen[static_cast<size_t>(rank)] = get(context, t);
  });
  for (size_t r = 1; r < 4; ++r) EXPECT_EQ(seen[r], seen[0]);
}

// An algorithm that the environment sets is kept and named; another algorithm gives other bits.
TEST(NcclCollectives, SumsUseTheNamedAlgorithm) {
  struct Sums {
    std::string named;
    std::vector<double> values;
  };
  const auto sums = [] {
    Sums first;
    on_devices({.dp = 3}, [&](Mesh& mesh, Context& context) {
      const Tensor t = context.empty({1000}, DType::F32);
      put(context, t, [&](int64_t i) { return std::pow(0.1, mesh.dp().rank()) * static_cast<double>(i) / 7; });
      mesh.dp().all_reduce(t);
      EXPECT_EQ(mesh.tp().sums(), "");  // a single rank
      if (mesh.dp().rank() == 0) first = {mesh.dp().sums(), get(context, t)};
    });
    return first;
  };
  unsetenv("NCCL_ALGO"), unsetenv("NCCL_PROTO");
  const Sums pinned = sums();
  EXPECT_THAT(pinned.named, testing::MatchesRegex("NCCL 2\\.[0-9]+\\.[0-9]+, algorithms "
                                                  "allreduce:ring;reducescatter:ring, protocols "
                                                  "allreduce:simple;reducescatter:simple"));
  EXPECT_STREQ(std::getenv("NCCL_ALGO"), "allreduce:ring;reducescatter:ring");
  setenv("NCCL_ALGO", "allreduce:tree", 1);
  const Sums of_tree = sums();
  unsetenv("NCCL_ALGO");
  EXPECT_THAT(of_tree.named, testing::HasSubstr("algorithms allreduce:tree, protocols allreduce:simple"));
  EXPECT_NE(of_tree.values, pinned.values);
}

TEST(NcclCollectives, RefusalsNameAxisAndRank) {
  on_devices({.dp = 2}, [](Mesh& mesh, Context& context) {
    check_refusals(context, mesh.dp());
    EXPECT_THROW(mesh.world().all_reduce(context.zeros({2}, DType::F32)), InternalError);  // no device plane
  });
}

TEST(NcclCollectives, CountWhatADryMeshCounts) {
  on_devices({.dp = 2, .tp = 2}, [](Mesh& mesh, Context& context) { check_counts(context, mesh, {.dp = 2, .tp = 2}); });
}

// Queued collectives and done collectives are counted separately: the device itself counts those it has done.
TEST(NcclCollectives, AreCountedWhenTheDeviceHasDoneThem) {
  on_devices({.dp = 2}, [](Mesh& mesh, Context& context) {
    const Tensor t = filled(context, 1000, DType::F32, mesh.dp().rank());
    for (int i = 0; i < 3; ++i) mesh.dp().all_reduce(t);
    DeviceProgress& progress = mesh.heartbeat().device();
    const auto dp = static_cast<size_t>(MeshAxis::Dp);
    EXPECT_EQ(mesh.heartbeat().read().device.queued[dp], 3);
    get(context, t);
    while (mesh.heartbeat().read().device.busy()) {  // the device counts after the work that the host waits for
      mesh.settle();
      progress.look();
    }
    EXPECT_EQ(mesh.heartbeat().read().device.done[dp], 3);
    EXPECT_EQ(mesh.heartbeat().read().device.device, mesh.dp().rank());
    EXPECT_FALSE(progress.awaited());
    mesh.dp().barrier();
    if (mesh.dp().rank() == 1) return;
    auto alone = mesh.dp().start_all_reduce(t, ReduceOp::Sum, {"gradient bucket", 7});
    for (int i = 0; i < 50; ++i) get(context, filled(context, 10, DType::F32, i));  // the device runs all that it can
    progress.look();
    const auto awaited = progress.awaited();
    ASSERT_TRUE(awaited);
    EXPECT_EQ(awaited->place, 4);
    EXPECT_EQ(awaited->what.use.index, 7);
    mesh.device_plane()->abort();
  });
}

// A host that waits for a rank which does not come is released by the abort of another thread.
TEST(NcclFailures, AbortReleasesTheHostAndItsDevice) {
  on_devices({.dp = 2}, [](Mesh& mesh, Context& context) {
    if (mesh.dp().rank() == 1) return mesh.dp().barrier();
    const Tensor t = filled(context, 1000, DType::F32, 0);
    mesh.dp().all_reduce(t);
    std::thread watchdog([&] { mesh.device_plane()->abort(); });
    EXPECT_THROW(mesh.settle(), PeerError);
    watchdog.join();
    get(context, t);  // waits for the device
    EXPECT_THROW(mesh.dp().all_reduce(t), PeerError);
    mesh.dp().barrier();
  });
}

// A device that waits over both axes is released by one abort.
TEST(NcclFailures, AbortReleasesADeviceThatWaitsOverTwoAxes) {
  on_devices({.dp = 2, .tp = 2}, [](Mesh& mesh, Context& context) {
    const bool waits = mesh.dp().rank() == 0 && mesh.tp().rank() == 0;
    const Tensor t = filled(context, 1000, DType::F32, 0), u = filled(context, 1000, DType::F32, 0);
    if (waits) {
      auto first = mesh.dp().start_all_reduce(t, ReduceOp::Sum, {"gradient bucket", 0});
      auto second = mesh.tp().start_all_reduce(u, ReduceOp::Sum, {"activation", 0});
      mesh.device_plane()->abort();
      get(context, t), get(context, u);
    }
    mesh.world().barrier();
  });
}

// NCCL is asked while the host waits: the device never finishes a collective that one rank has left.
TEST(NcclFailures, AnAsynchronousErrorEndsTheWaitAndNamesRankDeviceAndCollective) {
  on_devices({.dp = 2}, [](Mesh& mesh, Context& context) {
    const Tensor t = filled(context, 1000, DType::F32, mesh.dp().rank());
    mesh.dp().all_reduce(t);
    mesh.settle();
    mesh.world().barrier();  // number 1 over dp has ended on both ranks before one of them leaves
    if (mesh.dp().rank() == 1) {
      mesh.device_plane()->abort();
      return mesh.dp().barrier();
    }
    std::string explained;
    mesh.device_plane()->on_failure([&] { return explained = "and more"; });
    mesh.dp().all_reduce(t);
    try {
      mesh.settle();
      ADD_FAILURE() << "it came to an end";
    } catch (const PeerError& error) {
      EXPECT_THAT(error.what(), testing::ContainsRegex(
                                    "^rank 0 \\(.*, cuda:0\\): NCCL over dp has failed in all_reduce number 2 over dp "
                                    "\\(4000 bytes\\): remote process exited.*; and more$"));
    }
    get(context, t);  // the device continues
    mesh.dp().barrier();
  });
}

TEST(NcclCollectives, NeedADeviceWithAQueue) {
  EXPECT_THROW(run_hosts_in_process({.dp = 2},
                                    [](const MakeHostPlane& host, int rank) {
                                      Context cpu;
                                      nccl_mesh({.dp = 2}, rank, host, cpu);
                                    }),
               InternalError);
}

}  // namespace
}  // namespace weft
