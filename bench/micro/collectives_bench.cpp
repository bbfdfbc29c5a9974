// Sums of gradients over MPI: weft's chain beside MPI's own calls, in turn, with the bytes that each rank sends as Open
// MPI's monitoring counts them. Rank 0 prints JSON, an object a size and way:
//   mpirun -np 4 --mca pml_monitoring_enable 1 collectives_bench [MIB ...]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mpi.h"
#include "kernels/context.h"
#include "parallel/mpi_communicator.h"

namespace weft {
namespace {

// Bytes that this rank has sent to all others so far; 0 without monitoring.
class SentBytes {
 public:
  SentBytes() {
    int provided = 0, index = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_pvar_get_index("pml_monitoring_messages_size", MPI_T_PVAR_CLASS_SIZE, &index) != MPI_SUCCESS) return;
    MPI_Comm world = MPI_COMM_WORLD;
    int count = 0;
    MPI_T_pvar_session_create(&session_);
    if (MPI_T_pvar_handle_alloc(session_, index, &world, &handle_, &count) != MPI_SUCCESS) return;
    MPI_T_pvar_start(session_, handle_);
    values_.resize(static_cast<size_t>(count));
  }
  double read() {
    if (values_.empty()) return 0;
    MPI_T_pvar_read(session_, handle_, values_.data());
    size_t sum = 0;
    for (const size_t bytes : values_) sum += bytes;
    return static_cast<double>(sum);
  }

 private:
  MPI_T_pvar_session session_ = nullptr;
  MPI_T_pvar_handle handle_ = nullptr;
  std::vector<size_t> values_;
};

struct Way {
  std::string name;
  std::function<void()> call;
};

// Milliseconds of each way's fastest call of the slowest rank, and what each rank sent in it.
void compare(Communicator& world, SentBytes& sent, const char* collective, int64_t mib, const std::vector<Way>& ways) {
  constexpr int kTurns = 5;
  std::vector<double> best(ways.size(), 1e30);
  std::vector<std::vector<double>> bytes(ways.size());
  for (int turn = 0; turn <= kTurns; ++turn) {
    for (size_t i = 0; i < ways.size(); ++i) {
      world.barrier();
      const double before = sent.read();
      const auto began = std::chrono::steady_clock::now();
      ways[i].call();
      const double seconds = world.all_reduce_host(seconds_since(began), ReduceOp::Max);
      if (turn > 0) best[i] = std::min(best[i], seconds);
      if (turn == 0) {  // the barrier's and the maximum's few bytes are in it
        const double mine = sent.read() - before;
        bytes[i] = world.gather_host({&mine, 1});
      }
    }
  }
  if (world.rank() != 0) return;
  for (size_t i = 0; i < ways.size(); ++i) {
    for (double& value : bytes[i]) value = std::round(value / (1 << 20) * 10) / 10;
    fmt::print(R"({{"collective": "{}", "way": "{}", "ranks": {}, "mib": {}, "ms": {:.2f}, "sent_mib": [{}]}})"
               "\n",
               collective, ways[i].name, world.size(), mib, 1e3 * best[i], fmt::join(bytes[i], ", "));
  }
}

void wait(MPI_Request& request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

void run(const std::vector<int64_t>& sizes) {
  Context context;
  const auto by_chain = mpi_communicator(MeshAxis::World, MpiComm::duplicate(MPI_COMM_WORLD), {.chain_bytes = 0});
  const int64_t n = by_chain->size();
  SentBytes sent;
  for (const int64_t mib : sizes) {
    const int64_t share = (mib << 18) / n, elements = share * n;
    const Tensor in = context.zeros({elements}, DType::F32), out = context.zeros({elements}, DType::F32);
    const Tensor mine = context.zeros({share}, DType::F32);
    MPI_Request request = MPI_REQUEST_NULL;
    compare(*by_chain, sent, "all-reduce", mib,
            {{"chain", [&] { by_chain->all_reduce(out); }},
             {"MPI in place",
              [&] {
                MPI_Iallreduce(MPI_IN_PLACE, out.device_raw(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM,
                               MPI_COMM_WORLD, &request);
                wait(request);
              }},
             {"MPI out of place", [&] {
                MPI_Iallreduce(in.device_raw(), out.device_raw(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM,
                               MPI_COMM_WORLD, &request);
                wait(request);
              }}});
    compare(*by_chain, sent, "reduce-scatter", mib,
            {{"chain", [&] { by_chain->reduce_scatter(in, mine); }},
             {"MPI", [&] {
                MPI_Ireduce_scatter_block(in.device_raw(), mine.device_raw(), static_cast<int>(share), MPI_FLOAT,
                                          MPI_SUM, MPI_COMM_WORLD, &request);
                wait(request);
              }}});
    compare(*by_chain, sent, "all-gather", mib, {{"MPI", [&] { by_chain->all_gather(mine, out); }}});
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const weft::MpiEnvironment mpi(weft::find_launcher());
  std::vector<int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  weft::run(sizes.empty() ? std::vector<int64_t>{1, 8, 64} : sizes);
}
