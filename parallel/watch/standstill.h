// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parallel/watch/heartbeat.h"
#include "parallel/watch/node_status.h"

namespace weft {

// "rank 1 (cuda:1, pid 4712, sleeping; phase step, step 7; last collective: ...; last progress 3 s ago)"
std::string describe(const NodeStatus::Entry& entry);
// "phase step, step 7"
std::string place_of(const Heartbeat::Snapshot& at);

// "all_reduce number 12 over dp (gradient bucket 3, 400 bytes)"
std::string describe(const DeviceProgress::Awaited& collective);

// Where a rank is that does not go on: what it waits for, and which ranks keep it waiting, of those that the page of
// its node holds: all of the node, and what was heard of others. It waits for a collective of the host that its main
// thread blocks in, or for one that its device has not done, or for neither.
class Standstill {
 public:
  // `on_device`: what its device is at; `page`: of its node, null: none.
  Standstill(const Heartbeat::Snapshot& now, const std::optional<DeviceProgress::Awaited>& on_device,
             const NodeStatus* page);
  // The ranks that keep it waiting: those that take part in the collective and have not come to it (on a device: have
  // not queued it; whether the device of one that has is there already cannot be seen from outside), and where all of
  // those wait themselves, whoever is in no collective.
  std::vector<NodeStatus::Entry> awaited_ranks() const;
  // In words: the collective, who has not arrived, who stopped in it.
  std::string text() const;

 private:
  enum class WaitsFor : uint8_t { Nothing, Host, Device };
  std::vector<NodeStatus::Entry> missing() const;
  // Those that have not come may wait, on another axis, for one that waits for none.
  std::vector<NodeStatus::Entry> behind(const std::vector<NodeStatus::Entry>& absent) const;
  std::string awaited_text() const;
  std::string nobody_missing() const;
  bool arrived(const NodeStatus::Entry& entry) const;

  Heartbeat::Snapshot now_;
  WaitsFor waits_for_ = WaitsFor::Nothing;
  // On a host `place` is the collective's number.
  DeviceProgress::Awaited awaited_;
  std::vector<NodeStatus::Entry> known_;  // all ranks that the page holds
  std::vector<NodeStatus::Entry> group_;  // those of them that take part in the collective
};

}  // namespace weft
