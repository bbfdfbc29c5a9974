// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "kernels/context.h"
#include "kernels/device/stopwatch.h"
#include "parallel/communicator.h"
#include "parallel/parameters/flat_layout.h"

namespace weft {

// Brings each replica the weights that the others have updated, one all-gather a bucket. The first reader of a weight
// waits for its bucket (Parameter::value()), so that the gathers of later layers hide behind the forward pass of
// earlier ones. Buckets are gathered in the order in which a forward pass reads them: from the beginning of the flat
// buffer. On a device a wait is one of its queue; on a CPU the host waits.
class WeightGather {
 public:
  // When the gather of an updated bucket begins: at once, which overlaps it with the update of the next bucket too; or
  // in the next start_due(), for steps that are captured as graphs, so that the gathers are in the graph of the forward
  // pass that hides them.
  enum class Begin : uint8_t { AtUpdate, AtForward };

  // `flat` holds the compute values of all parameters; `layout` outlives the gather, and is sharded.
  WeightGather(Context& context, Communicator& replicas, const FlatLayout& layout, Tensor flat);

  void begin(Begin when) { when_ = when; }
  // This rank's share of the bucket has new values.
  void updated(size_t bucket);
  // Starts the gathers that are due. Collective over dp.
  void start_due();
  // Orders what follows after the bucket's gather. InternalError if it is due and has not been started.
  void await(size_t bucket);
  void await_all();
  // Waits for the gathers that have been started. Before anything writes weights, and at the end of a capture.
  void await_started();
  // A replayed graph has updated all trained buckets, or has gathered them.
  void updated_by_graph();
  void gathered_by_graph() { due_.assign(due_.size(), false); }
  // Seconds that operations, or the host, have waited since the last call of either; a device has finished its work
  // since.
  double take_waited();
  void forget_waited();

 private:
  void start(size_t bucket);
  void wait(size_t bucket);

  Communicator& replicas_;
  const FlatLayout& layout_;
  Tensor flat_;
  Begin when_ = Begin::AtUpdate;
  std::vector<bool> due_;  // by bucket, like pending_
  std::vector<std::unique_ptr<CollectiveWork>> pending_;
  size_t under_way_ = 0;                    // gathers in pending_
  std::unique_ptr<DeviceStopwatch> waits_;  // null: the host waits
  double waited_ = 0;                       // seconds of the host
};

}  // namespace weft
