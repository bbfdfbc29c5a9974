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

// Describes a rank that makes no progress: what it waits for, and which ranks keep it waiting, among the ranks on its
// node's page: all ranks of the node, and those of other nodes whose messages arrived. The rank waits for a collective
// of the host that its main thread blocks in, or for one that its device has not completed, or for neither.
class Standstill {
 public:
  // `on_device` is the collective that the rank's device is at; `page` is the page of its node, or null.
  Standstill(const Heartbeat::Snapshot& now, const std::optional<DeviceProgress::Awaited>& on_device,
             const NodeStatus* page);
  // The ranks that keep this rank waiting: those that take part in the collective and have not reached it (on a device:
  // have not queued it; whether a device has reached a collective that is queued cannot be seen from outside), and, if
  // all of those wait themselves, the ranks that are in no collective.
  std::vector<NodeStatus::Entry> awaited_ranks() const;
  // A sentence: the collective, the ranks that have not arrived, those that stopped in it.
  std::string text() const;

 private:
  enum class WaitsFor : uint8_t { Nothing, Host, Device };
  std::vector<NodeStatus::Entry> missing() const;
  // Ranks that have not arrived may themselves wait, on another axis, for a rank that waits for no other.
  std::vector<NodeStatus::Entry> behind(const std::vector<NodeStatus::Entry>& absent) const;
  std::string awaited_text() const;
  std::string nobody_missing() const;
  bool arrived(const NodeStatus::Entry& entry) const;

  Heartbeat::Snapshot now_;
  WaitsFor waits_for_ = WaitsFor::Nothing;
  // On a host `place` is the collective's number.
  DeviceProgress::Awaited awaited_;
  std::vector<NodeStatus::Entry> known_;  // all ranks that the page holds
  std::vector<NodeStatus::Entry> group_;  // the known ranks that take part in the collective
};

}  // namespace weft
