// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/standstill.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "parallel/watch/children.h"

namespace weft {
namespace {

constexpr std::string_view kStopped = "stopped by a signal or a debugger";

std::string words_for(const NodeStatus::Entry& e) {
  if (e.silent()) return fmt::format("no message for {:.0f} s", e.silent_seconds());
  switch (e.state()) {
    case 'R':
      return "running";
    case 'D':
      return "waiting for a disk or file server";
    case 'T':
    case 't':
      return std::string(kStopped);
    case 'Z':
    case 'X':
      return "dead";
    default:
      return "sleeping";
  }
}

std::string collective_of(const Heartbeat::Snapshot& at) {
  return at.number == 0 ? "none" : fmt::format("{} number {} over {}", name(at.collective), at.number, name(at.axis));
}

// "; its device has done 41 of 43 collectives over dp"
std::string device_of(const DeviceProgress::Snapshot& device) {
  std::string text;
  for (size_t i = 0; i < kMeshAxes; ++i) {
    if (device.queued[i] <= device.done[i]) continue;
    text += fmt::format("{} has done {} of {} collectives over {}", text.empty() ? "; its device" : " and",
                        device.done[i], device.queued[i], name(static_cast<MeshAxis>(i)));
  }
  return text;
}

// "; stopped by a signal or a debugger: pid 4711", of processes that the same launcher has started on this node.
std::string stopped_beside() {
  const std::vector<pid_t> stopped = stopped_children(getppid());
  return stopped.empty() ? "" : fmt::format("; {}: pid {}", kStopped, fmt::join(stopped, ", pid "));
}

// The ranks among these whose processes neither run nor sleep.
std::vector<NodeStatus::Entry> halted(std::vector<NodeStatus::Entry> entries) {
  std::erase_if(entries, [](const NodeStatus::Entry& e) {
    const char state = e.state();
    return state == 'R' || state == 'S';
  });
  return entries;
}

std::string joined(const std::vector<NodeStatus::Entry>& entries) {
  std::string text;
  for (const NodeStatus::Entry& e : entries) text.append(" ").append(describe(e));
  return text;
}

}  // namespace

std::string place_of(const Heartbeat::Snapshot& at) {
  return fmt::format("phase {}, {}", name(at.phase),
                     at.step < 0 ? "before the first step" : fmt::format("step {}", at.step));
}

std::string describe(const NodeStatus::Entry& e) {
  const std::string device = e.at.device.device < 0 ? "" : fmt::format("cuda:{}, ", e.at.device.device);
  const std::string host = e.host.empty() ? "" : e.host + ", ";
  return fmt::format("rank {} ({}{}pid {}, {}; {}; {}: {}{}; last progress {:.0f} s ago)", e.rank, host, device, e.pid,
                     words_for(e), place_of(e.at), e.at.waiting ? "waiting for" : "last collective",
                     collective_of(e.at), device_of(e.at.device), e.idle_seconds());
}

std::string describe(const DeviceProgress::Awaited& collective) {
  const auto& [axis, place, what] = collective;
  if (what.number == 0) return fmt::format("a collective over {}", name(axis));
  std::string use;
  if (what.use.what)
    use = fmt::format("{}{}, ", what.use.what, what.use.index < 0 ? "" : fmt::format(" {}", what.use.index));
  return fmt::format("{} number {} over {} ({}{} bytes)", name(what.collective), what.number, name(axis), use,
                     what.bytes);
}

Standstill::Standstill(const Heartbeat::Snapshot& now, const std::optional<DeviceProgress::Awaited>& on_device,
                       const NodeStatus* page)
    : now_(now), awaited_{.axis = now.axis, .place = now.number} {
  if (now.waiting) {
    waits_for_ = WaitsFor::Host;
  } else if (on_device) {
    waits_for_ = WaitsFor::Device, awaited_ = *on_device;
  }
  if (page) {
    known_ = page->read();
    std::ranges::move(page->others(), std::back_inserter(known_));
  }
  const auto axis = static_cast<size_t>(awaited_.axis);
  std::ranges::copy_if(known_, std::back_inserter(group_),
                       [&](const NodeStatus::Entry& e) { return e.at.group[axis] == now_.group[axis]; });
}

bool Standstill::arrived(const NodeStatus::Entry& e) const {
  const auto axis = static_cast<size_t>(awaited_.axis);
  return (waits_for_ == WaitsFor::Host ? e.at.begun[axis] : e.at.device.queued[axis]) >= awaited_.place;
}

std::vector<NodeStatus::Entry> Standstill::missing() const {
  if (waits_for_ == WaitsFor::Nothing) return {};
  std::vector<NodeStatus::Entry> list = group_;
  std::erase_if(list, [this](const NodeStatus::Entry& e) { return arrived(e); });
  return list;
}

std::vector<NodeStatus::Entry> Standstill::behind(const std::vector<NodeStatus::Entry>& absent) const {
  const auto ranks = static_cast<size_t>(std::max(now_.ranks[static_cast<size_t>(awaited_.axis)], 0));
  const bool whole = group_.size() >= ranks;  // an unknown rank may be the missing one
  if ((absent.empty() && whole) || !std::ranges::all_of(absent, &NodeStatus::Entry::waits)) return {};
  std::vector<NodeStatus::Entry> cause = known_;
  std::erase_if(cause, &NodeStatus::Entry::waits);
  return cause;
}

std::vector<NodeStatus::Entry> Standstill::awaited_ranks() const {
  if (waits_for_ == WaitsFor::Nothing) return {};
  std::vector<NodeStatus::Entry> list = missing();
  std::ranges::move(behind(list), std::back_inserter(list));
  return list;
}

std::string Standstill::awaited_text() const {
  if (waits_for_ == WaitsFor::Host) return fmt::format("waiting for {}", collective_of(now_));
  return fmt::format("waiting for its device, which is at {} or on its way there", describe(awaited_));
}

std::string Standstill::nobody_missing() const {
  // A rank may have begun the collective and been stopped in the middle of it.
  if (const auto stopped = halted(group_); !stopped.empty()) return "arrived, but stopped in it:" + joined(stopped);
  const int ranks = now_.ranks[static_cast<size_t>(awaited_.axis)];
  if (const auto known = static_cast<int>(group_.size()); known < ranks) {
    std::string text =
        fmt::format("{} of {} ranks are known here and have arrived, so one of another node has not", known, ranks);
    if (const auto cause = behind({}); !cause.empty()) text += "; in no collective:" + joined(cause);
    return text;
  }
  if (waits_for_ == WaitsFor::Host) return "all ranks have arrived, so the message passing itself hangs";
  // Another rank's device may be at a collective over another axis, with a rank that this one has none in common with.
  if (const auto stopped = halted(known_); !stopped.empty()) {
    return "all ranks have queued it, and a device may wait for one that does not run:" + joined(stopped);
  }
  return "all ranks have queued it, so a device or what connects them hangs:" + joined(group_);
}

std::string Standstill::text() const {
  if (waits_for_ == WaitsFor::Nothing) {
    return now_.number == 0
               ? "no collective yet: this rank itself makes no progress, or MPI's start waits for another one" +
                     stopped_beside()
               : fmt::format("this rank itself makes no progress; last collective: {}", collective_of(now_));
  }
  const std::vector<NodeStatus::Entry> absent = missing();
  if (absent.empty()) return awaited_text() + "; " + nobody_missing();
  const std::string text = awaited_text() + "; not arrived:" + joined(absent);
  const std::vector<NodeStatus::Entry> cause = behind(absent);
  return cause.empty() ? text : text + "; in no collective:" + joined(cause);
}

}  // namespace weft
