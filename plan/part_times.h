// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/device/devices.h"
#include "kernels/ledger.h"
#include "plan/device_spec.h"

namespace weft {

// What every device is assumed to reach and to wait for. From the same measurements as DeviceSpec's shares.
struct Reach {
  double tile_start = 200;       // beginning and writing a tile of a product takes as long as so many steps of its k
  double memory = 0.75;          // a share of the memory's rate
  double fp32_attention = 0.25;  // a share of the rate in fp32; not measured
  double links = 0.80;           // a share of the rates of links and network; not measured
  double gap = 2e-6;             // seconds from the end of a kernel to the begin of the next
  double graph_gap = 1e-6;       // between two kernels of a graph
  double launch = 25e-6;         // the host's seconds for a kernel
  double graph_launch = 10e-6;   // the host's seconds for a kernel of a graph
  double step = 2e-4;            // seconds that a device waits for the host at the end of a step
  double link_hop = 1.5e-6;      // least seconds from rank to rank, within a node
  double network_hop = 8e-6;
};

// Seconds that the parts of operations take on a device, each by its own shape and bytes: the time to compute or the
// time to move, whichever is longer (the roofline, Williams et al. 2009).
class PartTimes {
 public:
  PartTimes(const DeviceSpec& device, const Reach& reach, Precision precision, AttentionChoice attention);

  double seconds(const OperationPart& part) const;
  // Of an operation that states no parts: its sums.
  double whole(const Ledger::Entry& operation) const;

 private:
  // A library gives each multiprocessor one tile of the result at a time, of 128 x 256, 256 x 128 or 128 x 128, and may
  // divide k among several, which write and read their sums in fp32. The least of them counts.
  double product(const OperationPart& part) const;
  // Whole tiles are computed, but for those behind a causal mask. weft's own backward makes seven products, a library's
  // five.
  double attention(const OperationPart& part) const;
  double memory(double bytes) const { return bytes / memory_rate_; }

  int multiprocessors_;
  double tile_start_, product_rate_, own_rate_, library_rate_, memory_rate_;
  bool library_;
};

}  // namespace weft
