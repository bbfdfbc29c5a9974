#include "tests/cuda_device/libraries/nccl/communicator.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tests/cuda_device/libraries/nccl/processes.h"

namespace weft::cuda_device {
namespace {

// Calls that a device was given together; the next ones wait until all of these are done.
struct Turn {
  size_t left = 0;
};
using Batch = std::map<int, std::shared_ptr<Turn>>;  // by device

std::deque<std::shared_ptr<Turn>>& turns_of(int device) {
  static auto* const of_all = new std::map<int, std::deque<std::shared_ptr<Turn>>>;
  return (*of_all)[device];
}

struct Group {
  int depth = 0;
  std::vector<std::function<ncclResult_t(Batch&)>> calls;
  std::vector<std::shared_ptr<Clique>> joining;
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

// The turn of a device that this batch of calls shares.
std::shared_ptr<Turn> turn_of(int device, Batch& batch) {
  std::shared_ptr<Turn>& turn = batch[device];
  if (!turn) turns_of(device).push_back(turn = std::make_shared<Turn>());
  ++turn->left;
  return turn;
}
void done(int device, Turn& turn) {
  auto& turns = turns_of(device);
  --turn.left;
  while (!turns.empty() && turns.front()->left == 0) turns.pop_front();
}

// What the settings want to happen in a call.
enum class Fault { None, Fails, Stops, Dies };
Fault fault_of(uint64_t collective, const Settings& settings) {
  if (collective == settings.fail_collective) return Fault::Fails;
  if (collective == settings.stop_collective) return Fault::Stops;
  return collective == settings.kill_collective ? Fault::Dies : Fault::None;
}

// A call in its stream.
struct Put {
  Simulator& all;
  std::shared_ptr<Clique> clique;
  int rank, device;
  uint64_t number;
  Collective what;
  const void* from;
  void* to;
  std::shared_ptr<Turn> turn;
  std::string name;
  Fault fault;

  void send() const {
    if (clique->aborted(rank)) return;
    if (fault == Fault::Stops) raise(SIGSTOP);
    if (fault == Fault::Dies) raise(SIGKILL);
    if (fault == Fault::Fails) return clique->fail(rank);
    const size_t bytes = what.send_bytes(rank, clique->ranks());
    const std::byte* data = bytes ? all.memory.read(reinterpret_cast<uint64_t>(from), bytes, name) : nullptr;
    const Bytes nothing(data ? 0 : bytes);
    clique->send(rank, number, what, data ? std::span(data, bytes) : std::span<const std::byte>(nothing));
  }
  void receive() const {
    if (!clique->aborted(rank)) {
      if (const auto wrong = clique->disagreement(rank, number))
        all.reports.add(ReportKind::Runtime, *wrong);
      else
        deliver();
      clique->finish(rank, number);
    }
    done(device, *turn);
  }
  void deliver() const {
    const std::vector<Bytes> sent = clique->take(number);
    const size_t bytes = what.receive_bytes(rank, clique->ranks());
    std::byte* place = bytes ? all.memory.write(reinterpret_cast<uint64_t>(to), bytes, name) : nullptr;
    if (place) std::memcpy(place, received_by(rank, what, sent).data(), bytes);
  }
};

ncclResult_t put(Simulator& all, const Communicator& c, uint64_t number, const Collective& what, const void* send,
                 void* receive, Stream& stream, Batch& batch) {
  c.clique->call(c.rank);
  const std::string name = what.name() + ", rank " + std::to_string(c.rank);
  const Put it{all,
               c.clique,
               c.rank,
               stream.device,
               number,
               what,
               send,
               receive,
               turn_of(stream.device, batch),
               name,
               fault_of(all.count_collective(), all.settings)};
  all.enqueue(stream, {.name = name,
                       .body = [it](OpId) { it.send(); },
                       .ready =
                           [it] {
                             return it.clique->aborted(it.rank) ||
                                    (turns_of(it.device).front() == it.turn && it.clique->may_send(it.number));
                           }});
  all.enqueue(stream, {.name = name,
                       .body = [it](OpId) { it.receive(); },
                       .microseconds = 10,
                       .ready = [it] { return it.clique->aborted(it.rank) || it.clique->all_sent(it.number); }});
  return ncclSuccess;
}

uint64_t host_of_process() {
  const char* named = std::getenv("NCCL_HOSTID");
  return named ? std::hash<std::string>()(named) : 0;
}

}  // namespace

ncclResult_t join_clique(Simulator& all, const ncclUniqueId& id, int ranks, int rank, Communicator& into) {
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  const std::shared_ptr<Clique> clique = Clique::open(id, ranks);
  const int device = this_thread().device;
  if (!clique || !clique->join(rank, all.settings.physical(device), host_of_process())) return ncclInvalidUsage;
  join_processes(all, clique);
  all.note_move();
  into = {clique, rank, device};
  if (group().depth > 0) {
    group().joining.push_back(clique);
    return ncclSuccess;
  }
  return wait_for_all(all, *clique);
}

void start_group() { ++group().depth; }

ncclResult_t end_group(Simulator& all) {
  Group& mine = group();
  if (mine.depth == 0) return ncclInvalidUsage;
  if (--mine.depth > 0) return ncclSuccess;
  for (const auto& clique : std::exchange(mine.joining, {}))
    if (const ncclResult_t status = wait_for_all(all, *clique); status != ncclSuccess) return status;
  Batch batch;
  ncclResult_t result = ncclSuccess;
  for (const auto& one : std::exchange(mine.calls, {}))
    if (const ncclResult_t status = one(batch); status != ncclSuccess) result = status;
  return result;
}

ncclResult_t call(Simulator& all, Communicator& c, const Collective& what, const void* send, void* receive,
                  Stream& stream) {
  if (!is_known(what.type)) refuse(what.name() + ": the type is not simulated");
  if (what.reduction > ncclAvg) refuse(what.name() + ": a reduction of one's own is not simulated");
  if (stream.capture) refuse(what.name() + ": a collective in a graph is not simulated");
  if (what.root < 0 || what.root >= c.ranks()) return ncclInvalidArgument;
  if (stream.device != c.device) return ncclInvalidUsage;
  if (what.count == 0) return ncclSuccess;
  const auto later = [&all, c, number = c.calls++, what, send, receive, &stream](auto& batch) {
    return put(all, c, number, what, send, receive, stream, batch);
  };
  if (group().depth > 0) {
    group().calls.push_back(later);
    return ncclSuccess;
  }
  Batch batch;
  return later(batch);
}

}  // namespace weft::cuda_device
