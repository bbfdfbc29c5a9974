// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/nccl/communicator.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "simulator/libraries/nccl/call.h"
#include "simulator/libraries/nccl/processes.h"

namespace weft::cuda_device {
namespace {

// The sends and receives of a communicator in a group.
struct Exchange {
  const Clique* clique;
  int rank;
  const Stream* stream;
  std::shared_ptr<std::vector<Transfer>> transfers;
};

struct Group {
  int depth = 0;
  std::vector<std::function<ncclResult_t(Batch&)>> calls;
  std::vector<Exchange> exchanges;
  std::vector<std::shared_ptr<Clique>> joining;
  std::set<Communicator*> not_blocking;  // those that are called
};
Group& group() {
  static thread_local Group of_thread;
  return of_thread;
}

ncclResult_t wait_for_all(Simulator& all, Clique& clique) {
  if (!all.run_until([&] { return clique.complete(); })) {
    all.reports.add(ReportKind::Runtime, "of the " + std::to_string(clique.ranks()) +
                                             " ranks of a communicator these never joined:" + clique.absent());
    return ncclSystemError;
  }
  if (!clique.meet()) return ncclSystemError;
  all.note_move();
  return all.run_until([&] { return clique.all_met(); }) ? ncclSuccess : ncclSystemError;
}

// wait_for_all() of one that does not block.
std::optional<ncclResult_t> ask_for_all(Simulator& all, Clique& clique) {
  all.exchange_moves(false);
  if (!clique.complete()) return std::nullopt;
  if (!clique.meet()) return ncclSystemError;
  all.note_move();
  return clique.all_met() ? std::optional(ncclSuccess) : std::nullopt;
}

uint64_t host_of_process() {
  const char* named = std::getenv("NCCL_HOSTID");
  return named ? std::hash<std::string>()(named) : 0;
}

ncclResult_t put_call(Simulator& all, Communicator& c, const Collective& what, const void* send, void* receive,
                      Stream& stream) {
  if (!is_known(what.type)) refuse(what.name() + ": the type is not simulated");
  if (what.reduction > ncclAvg) refuse(what.name() + ": a reduction of one's own is not simulated");
  if (stream.capture && group().depth > 0) refuse(what.name() + ": a group in a graph is not simulated");
  if (what.root < 0 || what.root >= c.ranks()) return ncclInvalidArgument;
  if (stream.device != c.device) return ncclInvalidUsage;
  if (what.count == 0) return ncclSuccess;
  const Call made{c.clique, nullptr, c.rank,  c.device,
                  what,     send,    receive, what.name() + ", rank " + std::to_string(c.rank)};
  if (stream.capture) {
    Call kept = made;
    kept.graphs = c.graphs;
    capture(all, kept, stream);
    return ncclSuccess;
  }
  const auto later = [&all, made, &stream](Batch& batch) {
    put(all, made, stream, batch);
    return ncclSuccess;
  };
  if (group().depth > 0) {
    group().calls.push_back(later);
    return ncclSuccess;
  }
  Batch batch;
  return later(batch);
}

}  // namespace

ncclResult_t join_clique(Simulator& all, const ncclUniqueId& id, int ranks, int rank, Communicator& into) {
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  const std::shared_ptr<Clique> clique = Clique::open(id, ranks);
  const int device = this_thread().device;
  if (!clique || !clique->join(rank, all.settings.physical(device), host_of_process())) return ncclInvalidUsage;
  join_processes(all, clique);
  all.note_move();
  into.clique = clique, into.rank = rank, into.device = device;
  if (!into.blocking) {
    if (group().depth > 0)
      refuse("ncclCommInitRank of a communicator that does not block, in a group, is not simulated");
    return begin(all, std::array{&into}, [&all, clique] { return ask_for_all(all, *clique); });
  }
  if (group().depth > 0) {
    group().joining.push_back(clique);
    return ncclSuccess;
  }
  return wait_for_all(all, *clique);
}

ncclResult_t begin(Simulator& all, std::span<Communicator* const> communicators, const UnderWay::Step& step) {
  constexpr unsigned kMostAnswers = 4;
  const auto call = std::make_shared<UnderWay>(static_cast<unsigned>(all.schedule.random()() % kMostAnswers), step);
  const ncclResult_t result = call->ask();
  if (result != ncclInProgress) return result;
  for (Communicator* one : communicators) one->under_way = call;
  return result;
}

bool in_group() { return group().depth > 0; }
void start_group() { ++group().depth; }

ncclResult_t end_group(Simulator& all) {
  Group& mine = group();
  if (mine.depth == 0) return ncclInvalidUsage;
  if (--mine.depth > 0) return ncclSuccess;
  for (const auto& clique : std::exchange(mine.joining, {}))
    if (const ncclResult_t status = wait_for_all(all, *clique); status != ncclSuccess) return status;
  mine.exchanges.clear();
  const auto put_all = [calls = std::exchange(mine.calls, {})] {
    Batch batch;
    ncclResult_t result = ncclSuccess;
    for (const auto& one : calls)
      if (const ncclResult_t status = one(batch); status != ncclSuccess) result = status;
    return result;
  };
  const std::set<Communicator*> called = std::exchange(mine.not_blocking, {});
  if (called.empty()) return put_all();
  return begin(all, std::vector(called.begin(), called.end()), put_all);
}

ncclResult_t call(Simulator& all, Communicator& c, const Collective& what, const void* send, void* receive,
                  Stream& stream) {
  if (group().depth == 0 && !c.blocking)
    return begin(all, std::array{&c},
                 [&, what, send, receive] { return put_call(all, c, what, send, receive, stream); });
  if (!c.blocking) group().not_blocking.insert(&c);
  return put_call(all, c, what, send, receive, stream);
}

ncclResult_t transfer(Simulator& all, Communicator& c, const Transfer& what, Stream& stream) {
  Collective exchange;
  exchange.kind = Collective::Kind::Exchange;
  Group& mine = group();
  if (!is_known(what.type)) refuse(exchange.name() + ": the type is not simulated");
  if (mine.depth == 0) refuse("ncclSend or ncclRecv outside of a group is not simulated");
  if (what.peer < 0 || what.peer >= c.ranks()) return ncclInvalidArgument;
  if (stream.device != c.device) return ncclInvalidUsage;
  if (what.count == 0) return ncclSuccess;
  if (!c.blocking) mine.not_blocking.insert(&c);
  const auto begun = std::ranges::find_if(
      mine.exchanges, [&](const Exchange& e) { return e.clique == c.clique.get() && e.rank == c.rank; });
  if (begun != mine.exchanges.end()) {
    if (begun->stream != &stream) refuse(exchange.name() + " on two streams is not simulated");
    begun->transfers->push_back(what);
    return ncclSuccess;
  }
  const auto transfers = std::make_shared<std::vector<Transfer>>(1, what);
  mine.exchanges.push_back({c.clique.get(), c.rank, &stream, transfers});
  const Call made{c.clique, c.graphs, c.rank,  c.device,
                  exchange, nullptr,  nullptr, exchange.name() + ", rank " + std::to_string(c.rank),
                  transfers};
  mine.calls.push_back([&all, made, &stream](Batch& batch) {
    Call call = made;
    if (stream.capture) {
      capture(all, call, stream);
    } else {
      call.graphs = nullptr;
      put(all, call, stream, batch);
    }
    return ncclSuccess;
  });
  return ncclSuccess;
}

}  // namespace weft::cuda_device
