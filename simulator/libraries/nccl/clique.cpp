// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/nccl/clique.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>

#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {
namespace {

constexpr int kMostRanks = 64;
constexpr uint64_t kCalls = 64;  // the most calls in progress at once

std::string path_of(int process, int file) {
  return "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
}

void whole(ssize_t done, size_t bytes, const char* what) {
  if (done != static_cast<ssize_t>(bytes)) refuse(std::string("NCCL between processes: ") + what + " failed");
}

}  // namespace

// The data that a rank has sent for a call. `number` is the number of the call, from 1; it is written last.
struct Clique::Sent {
  std::atomic<uint64_t> number, received;
  Collective what;
  uint64_t offset, bytes;
};

struct Clique::Place {
  std::atomic<int> process;  // 0: the rank has not joined; written last
  std::atomic<bool> met;     // the rank has opened the data of the others
  std::atomic<bool> aborted, failed;
  int device, data;
  uint64_t host;
  std::atomic<uint64_t> calls, done;  // collectives called, and received
  std::atomic<uint64_t> moves;
  std::atomic<bool> waits;
  Sent table[kCalls];
};

struct Clique::Shared {
  std::atomic<int> ranks;
  Place places[kMostRanks];
};

std::optional<ncclUniqueId> Clique::make_id() {
  // The file is never closed: a process that has the name may open it at any time.
  const int file = memfd_create("simulated communicator", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return std::nullopt;
  ncclUniqueId id{};
  std::snprintf(id.internal, sizeof id.internal, "%d %d", getpid(), file);
  return id;
}

std::shared_ptr<Clique> Clique::open(const ncclUniqueId& id, int ranks) {
  static auto* const opened = new std::map<std::string, std::weak_ptr<Clique>>;  // for the threads of this process
  std::weak_ptr<Clique>& known = (*opened)[id.internal];
  if (std::shared_ptr<Clique> clique = known.lock()) return clique->ranks() == ranks ? clique : nullptr;
  int process = 0, made = 0;
  if (std::sscanf(id.internal, "%d %d", &process, &made) != 2) return nullptr;
  if (ranks > kMostRanks) refuse("a communicator of more than 64 ranks is not simulated");
  const int file = ::open(path_of(process, made).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* shared = static_cast<Shared*>(memory);  // initially zeros
  int stated = 0;
  if (!shared->ranks.compare_exchange_strong(stated, ranks) && stated != ranks) return nullptr;
  std::shared_ptr<Clique> clique(new Clique(file, shared, ranks));
  known = clique;
  return clique;
}

Clique::Clique(int file, Shared* shared, int ranks) : file_(file), shared_(shared), ends_(static_cast<size_t>(ranks)) {}

Clique::~Clique() {
  for (const End& end : ends_) {
    if (end.data >= 0) close(end.data);
    if (end.process >= 0) close(end.process);
  }
  munmap(shared_, sizeof(Shared));
  close(file_);
}

bool Clique::own(int rank) const { return shared_->places[rank].process == getpid(); }

bool Clique::join(int rank, int device, uint64_t host) {
  Place& mine = shared_->places[rank];
  End& end = ends_[static_cast<size_t>(rank)];
  if (mine.process != 0 || (end.data = memfd_create("sent by a rank", MFD_CLOEXEC)) < 0) return false;
  mine.device = device, mine.host = host, mine.data = end.data;
  mine.process = getpid();
  for (int other = 0; other < ranks(); ++other) {
    const Place& place = shared_->places[other];
    if (other != rank && place.process != 0 && place.device == device && place.host == host) return false;
  }
  return true;
}

bool Clique::complete() const {
  return std::all_of(shared_->places, shared_->places + ranks(), [](const Place& p) { return p.process != 0; });
}

bool Clique::within_process() const {
  for (int rank = 0; rank < ranks(); ++rank)
    if (!own(rank)) return false;
  return true;
}

std::string Clique::absent() const {
  std::string missing;
  for (int rank = 0; rank < ranks(); ++rank)
    if (shared_->places[rank].process == 0) missing += " " + std::to_string(rank);
  return missing;
}

bool Clique::meet() {
  for (int rank = 0; rank < ranks(); ++rank) {
    if (own(rank)) continue;
    End& end = ends_[static_cast<size_t>(rank)];
    const Place& place = shared_->places[rank];
    if (end.data < 0) end.data = ::open(path_of(place.process, place.data).c_str(), O_RDONLY | O_CLOEXEC);
    if (end.process < 0) end.process = static_cast<int>(syscall(SYS_pidfd_open, place.process.load(), 0));
    if (end.data < 0 || end.process < 0) return false;
  }
  for (int rank = 0; rank < ranks(); ++rank)
    if (own(rank)) shared_->places[rank].met = true;
  return true;
}

bool Clique::all_met() const {
  return std::all_of(shared_->places, shared_->places + ranks(), [](const Place& p) { return p.met.load(); });
}

uint64_t Clique::call(int rank) { return shared_->places[rank].calls++; }

const Clique::Sent& Clique::sent(int rank, uint64_t number) const {
  return shared_->places[rank].table[number % kCalls];
}

bool Clique::received_by_all(uint64_t number) const {
  for (int other = 0; other < ranks(); ++other)
    if (sent(other, number).received < number + 1) return false;
  return true;
}

bool Clique::may_send(uint64_t number) const { return number < kCalls || received_by_all(number - kCalls); }

void Clique::send(int rank, uint64_t number, const Collective& what, std::span<const std::byte> bytes) {
  End& end = ends_[static_cast<size_t>(rank)];
  std::erase_if(end.in_flight, [&](uint64_t earlier) { return received_by_all(earlier); });
  if (end.in_flight.empty()) end.used = 0;
  end.in_flight.push_back(number);
  Sent& slot = shared_->places[rank].table[number % kCalls];
  slot.what = what, slot.offset = end.used, slot.bytes = bytes.size();
  whole(pwrite(end.data, bytes.data(), bytes.size(), static_cast<off_t>(end.used)), bytes.size(), "sending");
  end.used += bytes.size();
  slot.number = number + 1;
}

bool Clique::all_sent(uint64_t number) const {
  for (int rank = 0; rank < ranks(); ++rank)
    if (sent(rank, number).number != number + 1) return false;
  return true;
}

std::optional<std::string> Clique::disagreement(int rank, uint64_t number) const {
  const Collective& mine = sent(rank, number).what;
  for (int other = 0; other < ranks(); ++other) {
    const Collective& theirs = sent(other, number).what;
    if (mine == theirs) continue;
    return "rank " + std::to_string(rank) + " calls " + mine.name() + " where rank " + std::to_string(other) +
           " calls " + theirs.name() + " (call " + std::to_string(number + 1) + " of a communicator of " +
           std::to_string(ranks()) + " ranks)";
  }
  return std::nullopt;
}

std::vector<Bytes> Clique::take(uint64_t number) const {
  std::vector<Bytes> all(ends_.size());
  for (int other = 0; other < ranks(); ++other) {
    const Sent& theirs = sent(other, number);
    Bytes& bytes = all[static_cast<size_t>(other)];
    bytes.resize(theirs.bytes);
    whole(pread(ends_[static_cast<size_t>(other)].data, bytes.data(), bytes.size(), static_cast<off_t>(theirs.offset)),
          bytes.size(), "receiving");
  }
  return all;
}

void Clique::finish(int rank, uint64_t number) {
  Place& place = shared_->places[rank];
  place.table[number % kCalls].received = number + 1;
  ++place.done;
}

bool Clique::idle(int rank) const { return shared_->places[rank].done == shared_->places[rank].calls; }

void Clique::abort(int rank) { shared_->places[rank].aborted = true; }
bool Clique::aborted(int rank) const { return shared_->places[rank].aborted; }
void Clique::fail(int rank) { shared_->places[rank].failed = true; }
bool Clique::failed(int rank) const { return shared_->places[rank].failed; }

bool Clique::ended(int rank) const {
  const int process = ends_[static_cast<size_t>(rank)].process;
  pollfd asked{.fd = process, .events = POLLIN, .revents = 0};  // readable once the process has ended
  return process >= 0 && poll(&asked, 1, 0) == 1;
}

bool Clique::broken(int rank) const {
  if (idle(rank)) return false;
  for (int other = 0; other < ranks(); ++other)
    if (other != rank && (ended(other) || aborted(other))) return true;
  return false;
}

void Clique::tell(uint64_t moves, bool waits) {
  for (int rank = 0; rank < ranks(); ++rank)
    if (own(rank)) shared_->places[rank].moves = moves, shared_->places[rank].waits = waits;
}

uint64_t Clique::moves_elsewhere() const {
  uint64_t sum = 0;
  for (int rank = 0; rank < ranks(); ++rank)
    if (!own(rank)) sum += shared_->places[rank].moves + (shared_->places[rank].met ? 1 : 0);
  return sum;
}

bool Clique::awaited() const {
  for (int rank = 0; rank < ranks(); ++rank)
    if (!own(rank) && shared_->places[rank].waits) return true;
  return false;
}

std::string Clique::positions() const {
  std::string text;
  for (int rank = 0; rank < ranks(); ++rank) {
    const Place& place = shared_->places[rank];
    text += (rank > 0 ? ", rank " : "rank ") + std::to_string(rank);
    if (place.process == 0) {
      text += " has not joined";
      continue;
    }
    const uint64_t calls = place.calls, done = place.done;
    text += " (process " + std::to_string(place.process) + ", device " + std::to_string(place.device) +
            (ended(rank) ? ", which has ended" : "") + ") has called " + std::to_string(calls) + " and done " +
            std::to_string(done);
    const Sent& next = sent(rank, done);
    if (next.number == done + 1) text += ", and waits in " + next.what.name();
  }
  return text;
}

}  // namespace weft::cuda_device
