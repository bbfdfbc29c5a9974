// SPDX-License-Identifier: Apache-2.0
// Times sums of gradients over MPI: weft's chain, MPI's own calls and, if it was found, Gloo, in turn. Rank 0 prints
// one line of JSON per way:
//   mpirun -np 4 collectives_bench MIB
// With the name of a way it runs that way once and prints nothing, for a monitor that counts the bytes.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mpi.h"
#include "bench/micro/gloo_sums.h"
#include "kernels/context.h"
#include "parallel/mpi/communicator.h"

namespace weft {
namespace {

struct Way {
  std::string name;
  std::function<void()> call;
};

// Runs the ways in turn and prints, for each way, the time of its fastest call on the slowest rank.
void measure(Communicator& world, const std::vector<Way>& ways, int64_t mib) {
  constexpr int kTurns = 6;  // the first warms up
  std::vector<double> best(ways.size(), 1e30);
  for (int turn = 0; turn < kTurns; ++turn) {
    for (size_t i = 0; i < ways.size(); ++i) {
      world.barrier();
      const auto began = std::chrono::steady_clock::now();
      ways[i].call();
      const double seconds = world.all_reduce_host(seconds_since(began), ReduceOp::Max);
      if (turn > 0) best[i] = std::min(best[i], seconds);
    }
  }
  if (world.rank() != 0) return;
  for (size_t i = 0; i < ways.size(); ++i) {
    fmt::print(R"({{"way": "{}", "ranks": {}, "mib": {}, "ms": {:.2f}}})"
               "\n",
               ways[i].name, world.size(), mib, 1e3 * best[i]);
  }
}

void run(int64_t mib, const std::string& once) {
  Context context;
  const auto chain = mpi_communicator(MeshAxis::World, MpiComm::duplicate(MPI_COMM_WORLD), {.chain_bytes = 0});
  const int64_t n = chain->size(), share = (mib << 18) / n, elements = share * n;
  const Tensor in = context.zeros({elements}, DType::F32), out = context.zeros({elements}, DType::F32);
  const Tensor mine = context.zeros({share}, DType::F32);
  const auto all_reduce = [&](const void* from) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(from, out.device_raw(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  std::vector<Way> ways = {{"all-reduce: chain", [&] { chain->all_reduce(out); }},
                           {"all-reduce: MPI in place", [&] { all_reduce(MPI_IN_PLACE); }},
                           {"all-reduce: MPI", [&] { all_reduce(in.device_raw()); }},
                           {"reduce-scatter: chain", [&] { chain->reduce_scatter(in, mine); }},
                           {"reduce-scatter: MPI",
                            [&] {
                              MPI_Request request = MPI_REQUEST_NULL;
                              MPI_Ireduce_scatter_block(in.device_raw(), mine.device_raw(), static_cast<int>(share),
                                                        MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
                              MPI_Wait(&request, MPI_STATUS_IGNORE);
                            }},
                           {"all-gather: MPI", [&] { chain->all_gather(mine, out); }}};
  if (auto gloo = gloo_all_reduce(*chain, out)) ways.push_back({"all-reduce: Gloo", std::move(gloo)});
  if (once.empty()) return measure(*chain, ways, mib);
  for (const Way& way : ways) {
    if (way.name == once) way.call();
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const weft::MpiEnvironment mpi(weft::find_launcher());
  weft::run(argc > 1 ? std::atoll(argv[1]) : 8, argc > 2 ? argv[2] : "");
}
