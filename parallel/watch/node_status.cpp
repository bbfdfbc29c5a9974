// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/node_status.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>

#include "parallel/watch/children.h"

namespace weft {

struct NodeStatus::Layout {
  std::atomic<int32_t> reports{0};
  static size_t bytes(int ranks);
};

struct NodeStatus::Other {
  Slot slot;
  std::atomic<int64_t> heard_ns{0};
  std::atomic<char> process_state{0};
  std::array<std::atomic<char>, 63> host{};
};

size_t NodeStatus::Layout::bytes(int ranks) {
  return sizeof(Slot) * (static_cast<size_t>(ranks) + 1) + sizeof(Other) * kOthers;
}

NodeStatus::NodeStatus(int descriptor, void* memory, int local_ranks)
    : descriptor_(descriptor), layout_(static_cast<Layout*>(memory)), local_ranks_(local_ranks) {
  static_assert(sizeof(Layout) <= sizeof(Slot));
}

NodeStatus::~NodeStatus() {
  munmap(layout_, Layout::bytes(local_ranks_));
  close_descriptor();
}

void NodeStatus::close_descriptor() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

std::unique_ptr<NodeStatus> NodeStatus::map(int descriptor, int local_ranks) {
  if (descriptor < 0) return nullptr;
  void* memory = mmap(nullptr, Layout::bytes(local_ranks), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    close(descriptor);
    return nullptr;
  }
  // A new file is all zero bytes, the initial value of every field.
  return std::unique_ptr<NodeStatus>(new NodeStatus(descriptor, memory, local_ranks));
}

std::unique_ptr<NodeStatus> NodeStatus::create(int local_ranks) {
  const int descriptor = memfd_create("weft-heartbeats", MFD_CLOEXEC);
  if (descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(Layout::bytes(local_ranks))) != 0) {
    close(descriptor);
    return nullptr;
  }
  return map(descriptor, local_ranks);
}

std::unique_ptr<NodeStatus> NodeStatus::open(pid_t pid, int descriptor, int local_ranks) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
  // Another process may have that number in another container: the name shows whether the file is a page of weft.
  std::array<char, 64> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  const bool ours =
      length > 0 &&
      std::string_view(target.data(), static_cast<size_t>(length)).find("weft-heartbeats") != std::string_view::npos;
  return ours ? map(::open(path.c_str(), O_RDWR | O_CLOEXEC), local_ranks) : nullptr;
}

NodeStatus::Slot& NodeStatus::slot(int local_rank) const {
  return reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(layout_) + sizeof(Slot))[local_rank];
}

NodeStatus::Other& NodeStatus::other(size_t index) const {
  return reinterpret_cast<Other*>(&slot(local_ranks_))[index];
}

void NodeStatus::tell_of_others(std::span<const Entry> others) {
  for (size_t i = 0; i < kOthers; ++i) {
    Other& o = other(i);
    if (i >= others.size()) {
      o.slot.pid = 0;
      continue;
    }
    const Entry& e = others[i];
    o.slot.rank = e.rank, o.slot.progressed_ns = e.progressed_ns;
    Heartbeat::write(e.at, o.slot.state);
    o.heard_ns = e.heard_ns, o.process_state = e.process_state;
    for (size_t c = 0; c < o.host.size(); ++c) o.host[c] = c < e.host.size() ? e.host[c] : '\0';
    o.slot.pid = e.pid;
  }
}

std::vector<NodeStatus::Entry> NodeStatus::others() const {
  std::vector<Entry> entries;
  for (size_t i = 0; i < kOthers; ++i) {
    const Other& o = other(i);
    if (o.slot.pid == 0) continue;
    Entry& e = entries.emplace_back();
    e.pid = o.slot.pid, e.rank = o.slot.rank, e.local_rank = -1, e.progressed_ns = o.slot.progressed_ns;
    e.at = Heartbeat::read(o.slot.state);
    e.heard_ns = o.heard_ns, e.process_state = o.process_state;
    for (const auto& c : o.host) {
      if (c == '\0') break;
      e.host += c;
    }
  }
  return entries;
}

std::vector<NodeStatus::Entry> NodeStatus::read() const {
  std::vector<Entry> entries;
  for (int i = 0; i < local_ranks_; ++i) {
    const Slot& s = slot(i);
    if (s.pid == 0) continue;
    entries.push_back({.pid = s.pid,
                       .rank = s.rank,
                       .local_rank = i,
                       .progressed_ns = s.progressed_ns,
                       .watchdog_ticks = s.watchdog_ticks,
                       .at = Heartbeat::read(s.state)});
  }
  return entries;
}

int64_t NodeStatus::now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double NodeStatus::Entry::idle_seconds() const { return static_cast<double>(now_ns() - progressed_ns) * 1e-9; }

double NodeStatus::Entry::silent_seconds() const {
  return heard_ns == 0 ? 0 : static_cast<double>(now_ns() - heard_ns) * 1e-9;
}

char NodeStatus::Entry::state() const {
  if (heard_ns != 0) return silent() ? '?' : process_state;
  return state_of_process(pid);
}

bool NodeStatus::first_to_report() { return layout_->reports.fetch_add(1) == 0; }

}  // namespace weft
