// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/nccl/call.h"

#include <csignal>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

namespace weft::cuda_device {

// Calls that a device received together; the next calls wait until all of these are done.
struct Turn {
  size_t left = 0;
};

namespace {

std::deque<std::shared_ptr<Turn>>& turns_of(int device) {
  static auto* const of_all = new std::map<int, std::deque<std::shared_ptr<Turn>>>;
  return (*of_all)[device];
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

// The fault that the settings plan for a call.
enum class Fault { None, Fails, Stops, Dies };
Fault fault_of(uint64_t collective, const Settings& settings) {
  if (collective == settings.fail_collective) return Fault::Fails;
  if (collective == settings.stop_collective) return Fault::Stops;
  return collective == settings.kill_collective ? Fault::Dies : Fault::None;
}

// A call that was put into its stream.
struct Put {
  Simulator& all;
  Call call;
  std::shared_ptr<Turn> turn;
  uint64_t number;
  Fault fault;

  Put(Simulator& all, const Call& call, Batch& batch)
      : all(all),
        call(call),
        turn(turn_of(call.device, batch)),
        number(call.clique->call(call.rank)),
        fault(fault_of(all.count_collective(), all.settings)) {
    ++all.collectives_under_way[call.device];
  }

  Work sending() const {
    const auto may = [it = *this] {
      return it.call.clique->aborted(it.call.rank) ||
             (turns_of(it.call.device).front() == it.turn && it.call.clique->may_send(it.number));
    };
    return {.name = call.name, .body = [it = *this](OpId) { it.send(); }, .ready = may};
  }
  Work receiving() const {
    const auto can = [it = *this] {
      return it.call.clique->aborted(it.call.rank) || it.call.clique->all_sent(it.number);
    };
    return {.name = call.name, .body = [it = *this](OpId) { it.receive(); }, .microseconds = 10, .ready = can};
  }

 private:
  void send() const {
    Clique& clique = *call.clique;
    if (clique.aborted(call.rank)) return;
    if (fault == Fault::Stops) raise(SIGSTOP);
    if (fault == Fault::Dies) raise(SIGKILL);
    if (fault == Fault::Fails) return clique.fail(call.rank);
    if (call.transfers)
      return clique.send(call.rank, number, call.what, packed(*call.transfers, [&](const Transfer& t) {
                           const std::byte* data =
                               all.memory.read(reinterpret_cast<uint64_t>(t.data), t.bytes(), call.name);
                           return data ? Bytes(data, data + t.bytes()) : Bytes(t.bytes());
                         }));
    const size_t bytes = call.what.send_bytes(call.rank, clique.ranks());
    const std::byte* data = bytes ? all.memory.read(reinterpret_cast<uint64_t>(call.from), bytes, call.name) : nullptr;
    const Bytes nothing(data ? 0 : bytes);
    clique.send(call.rank, number, call.what, data ? std::span(data, bytes) : std::span<const std::byte>(nothing));
  }
  void receive() const {
    Clique& clique = *call.clique;
    if (!clique.aborted(call.rank)) {
      if (const auto wrong = clique.disagreement(call.rank, number))
        all.reports.add(ReportKind::Runtime, *wrong);
      else
        deliver();
      clique.finish(call.rank, number);
    }
    done(call.device, *turn);
    --all.collectives_under_way[call.device];
  }
  void deliver() const {
    const std::vector<Bytes> sent = call.clique->take(number);
    if (call.transfers) return deliver_exchanged(sent);
    const size_t bytes = call.what.receive_bytes(call.rank, call.clique->ranks());
    std::byte* place = bytes ? all.memory.write(reinterpret_cast<uint64_t>(call.to), bytes, call.name) : nullptr;
    if (place) std::memcpy(place, received_by(call.rank, call.what, sent).data(), bytes);
  }
  void deliver_exchanged(const std::vector<Bytes>& messages) const {
    if (const auto wrong = misfit(call.rank, messages)) return all.reports.add(ReportKind::Runtime, *wrong);
    std::map<int, size_t> taken;  // the number of messages taken from each rank
    for (const Transfer& t : *call.transfers) {
      if (t.sends) continue;
      const Bytes data = received_from(t.peer, call.rank, messages)[taken[t.peer]++];
      std::byte* place = all.memory.write(reinterpret_cast<uint64_t>(t.data), t.bytes(), call.name);
      if (place) std::memcpy(place, data.data(), data.size());
    }
  }
};

}  // namespace

void put(Simulator& all, const Call& call, Stream& stream, Batch& batch) {
  const Put it(all, call, batch);
  all.enqueue(stream, it.sending());
  all.enqueue(stream, it.receiving());
}

// In a graph, each launch gives the call its number and its turn on the device. The sending half comes first.
void capture(Simulator& all, const Call& call, Stream& stream) {
  const auto launched = std::make_shared<std::optional<Put>>();
  Work send{.name = call.name, .body = {}}, receive{.name = call.name, .body = {}};
  send.again = [&all, call, launched] {
    Batch batch;
    return launched->emplace(all, call, batch).sending();
  };
  receive.again = [launched] { return (*launched)->receiving(); };
  all.enqueue(stream, std::move(send));
  all.enqueue(stream, std::move(receive));
}

}  // namespace weft::cuda_device
