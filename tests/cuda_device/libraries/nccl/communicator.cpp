#include "tests/cuda_device/libraries/nccl/communicator.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

namespace weft::cuda_device {
namespace {

// Calls that a device was given together; the next ones wait until all of these are done.
struct Turn {
  size_t left = 0;
};

struct Shared {
  std::map<std::string, std::shared_ptr<Clique>> cliques;  // by unique id
  std::map<int, std::deque<std::shared_ptr<Turn>>> turns;  // by device
};
Shared& shared() {
  static auto* const the_one = new Shared;
  return *the_one;
}

struct Group {
  int depth = 0;
  std::vector<std::function<ncclResult_t(std::map<int, std::shared_ptr<Turn>>&)>> calls;
  std::vector<std::shared_ptr<Clique>> joining;
};
Group& group() {
  static thread_local Group of_thread;
  return of_thread;
}

bool wait_for_all(Simulator& all, const Clique& clique) {
  if (all.run_until([&] { return clique.complete(); })) return true;
  std::string missing;
  for (size_t rank = 0; rank < clique.devices.size(); ++rank)
    if (clique.devices[rank] < 0) missing += " " + std::to_string(rank);
  all.reports.add(ReportKind::Runtime, "of the " + std::to_string(clique.devices.size()) +
                                           " ranks of a communicator these never joined:" + missing +
                                           " (ranks are threads of one process here)");
  return false;
}

// The turn of a device that this batch of calls shares.
std::shared_ptr<Turn> turn_of(int device, std::map<int, std::shared_ptr<Turn>>& batch) {
  std::shared_ptr<Turn>& turn = batch[device];
  if (!turn) shared().turns[device].push_back(turn = std::make_shared<Turn>());
  ++turn->left;
  return turn;
}
void done(int device, Turn& turn) {
  auto& turns = shared().turns[device];
  --turn.left;
  while (!turns.empty() && turns.front()->left == 0) turns.pop_front();
}

ncclResult_t put(Simulator& all, const Communicator& c, uint64_t number, const Collective& what, const void* send,
                 void* receive, Stream& stream, std::map<int, std::shared_ptr<Turn>>& batch) {
  Clique& clique = *c.clique;
  std::shared_ptr<Meeting>& slot = clique.meetings[number];
  if (!slot) slot = std::make_shared<Meeting>(Meeting{what, c.rank, std::vector<Bytes>(clique.devices.size())});
  const std::shared_ptr<Meeting> meeting = slot;
  if (meeting->what != what) {
    all.reports.add(ReportKind::Runtime, "rank " + std::to_string(c.rank) + " calls " + what.name() + " where rank " +
                                             std::to_string(meeting->first_rank) + " calls " + meeting->what.name() +
                                             " (call " + std::to_string(number + 1) + " of communicator " +
                                             std::to_string(clique.number) + ")");
    return ncclInvalidUsage;
  }
  const int rank = c.rank, ranks = c.ranks(), device = stream.device;
  const auto turn = turn_of(device, batch);
  const std::string name = what.name() + ", rank " + std::to_string(rank);
  all.enqueue(stream, {.name = name,
                       .body =
                           [=, &all](OpId) {
                             const size_t bytes = what.send_bytes(rank, ranks);
                             const std::byte* from =
                                 bytes ? all.memory.read(reinterpret_cast<uint64_t>(send), bytes, name) : nullptr;
                             Bytes& sent = meeting->sent[static_cast<size_t>(rank)];
                             from ? sent.assign(from, from + bytes) : sent.resize(bytes);
                             ++meeting->senders;
                           },
                       .ready = [=] { return c.clique->aborted || shared().turns[device].front() == turn; }});
  all.enqueue(stream, {.name = name,
                       .body =
                           [=, &all](OpId) {
                             const size_t bytes = what.receive_bytes(rank, ranks);
                             if (bytes && !c.clique->aborted) {
                               const Bytes result = received_by(rank, what, meeting->sent);
                               if (std::byte* to = all.memory.write(reinterpret_cast<uint64_t>(receive), bytes, name))
                                 std::memcpy(to, result.data(), bytes);
                             }
                             done(device, *turn);
                           },
                       .microseconds = 10,
                       .ready = [=] { return c.clique->aborted || meeting->senders == static_cast<size_t>(ranks); }});
  if (number > 0) {  // who is here has been through the one before: once all are, nobody looks for it
    const auto old = clique.meetings.find(number - 1);
    if (old != clique.meetings.end() && old->second->senders == static_cast<size_t>(ranks)) clique.meetings.erase(old);
  }
  return ncclSuccess;
}

}  // namespace

bool Clique::complete() const { return std::find(devices.begin(), devices.end(), -1) == devices.end(); }

ncclResult_t join_clique(Simulator& all, const ncclUniqueId& id, int ranks, int rank, Communicator& into) {
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  std::shared_ptr<Clique>& clique = shared().cliques[std::string(id.internal, sizeof id.internal)];
  if (!clique) {
    clique = std::make_shared<Clique>();
    clique->number = static_cast<int>(shared().cliques.size());
    clique->devices.assign(static_cast<size_t>(ranks), -1);
  }
  const int device = this_thread().device;
  if (std::find(clique->devices.begin(), clique->devices.end(), device) != clique->devices.end() ||
      clique->devices.size() != static_cast<size_t>(ranks) || clique->devices[static_cast<size_t>(rank)] != -1)
    return ncclInvalidUsage;  // two ranks on one device, or ranks that disagree on who they are
  clique->devices[static_cast<size_t>(rank)] = device;
  all.note_move();
  into = {clique, rank};
  if (group().depth > 0) {
    group().joining.push_back(clique);
    return ncclSuccess;
  }
  const std::shared_ptr<Clique> mine = clique;
  return wait_for_all(all, *mine) ? ncclSuccess : ncclSystemError;
}

void start_group() { ++group().depth; }

ncclResult_t end_group(Simulator& all) {
  Group& mine = group();
  if (mine.depth == 0) return ncclInvalidUsage;
  if (--mine.depth > 0) return ncclSuccess;
  for (const auto& clique : std::exchange(mine.joining, {}))
    if (!wait_for_all(all, *clique)) return ncclSystemError;
  std::map<int, std::shared_ptr<Turn>> batch;
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
  if (stream.device != c.clique->devices[static_cast<size_t>(c.rank)]) return ncclInvalidUsage;
  if (what.count == 0) return ncclSuccess;
  const auto later = [&all, c, number = c.calls++, what, send, receive, &stream](auto& batch) {
    return put(all, c, number, what, send, receive, stream, batch);
  };
  if (group().depth > 0) {
    group().calls.push_back(later);
    return ncclSuccess;
  }
  std::map<int, std::shared_ptr<Turn>> batch;
  return later(batch);
}

}  // namespace weft::cuda_device
