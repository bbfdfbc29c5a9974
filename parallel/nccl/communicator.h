// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "parallel/make_host_plane.h"

namespace weft {

// Ranks that each compute on a CUDA device of their own, whose tensors NCCL exchanges, while values and texts go over
// the host plane of each axis. An axis of one rank has nothing to exchange; the world axis has only its host plane, for
// decisions, and exchanges no tensor.
//
// A collective is put into a queue of its axis, which first waits for the operations queued so far: they make its
// input, and may still read memory that it overwrites. Operations do not wait for it before CollectiveWork::wait(),
// which queues that wait and returns; until then the work keeps its tensors, since the pool would lend their memory to
// operations that are not ordered after it. The host never waits.
//
// No two ranks may start collectives of two axes in different orders: a device may run them one at a time, and then
// each of the two would wait for the other. So one thread starts all of them, in the order of the program, which is the
// same on every rank; and whether one is started must never depend on done(), whose answer differs from rank to rank.
//
// A collective that fails on the way to another rank never ends, and the device waits in it. So before the host reads
// results of collectives it waits by Mesh::settle(), which polls NCCL meanwhile and throws on a failure; and the queue
// of an axis counts the completed collectives (DeviceProgress), by which a watchdog tells a device that hangs from one
// that works.
//
// Sums of one layout have the same bits in every run and on every rank: NCCL's algorithm and protocol are set, and
// named by Communicator::sums() (parallel/nccl/sums.h). On other machines, or with other links between them, its rings
// and the chunks that go around them may differ.

// For `weft doctor`: "2.28.9", the version of the header at compile time, or a note that this build has no NCCL.
std::string describe_nccl();
// In a build without NCCL, throws a ConfigError that says how to build weft with NCCL.
void require_nccl(int ranks);
// NCCL refuses two ranks of one machine on one device. It distinguishes machines by NCCL_HOSTID: this sets NCCL_HOSTID
// to `machine`, unless the environment already has it, so that this process reaches the others over sockets (on the
// loopback). Call it before nccl_mesh().
void let_nccl_share_device(const std::string& machine);
// `context` computes on the rank's device, and must outlive the mesh. Collective.
Mesh nccl_mesh(const MeshLayout& layout, int world_rank, const MakeHostPlane& make_host_plane, Context& context,
               std::shared_ptr<Heartbeat> heartbeat = nullptr);

}  // namespace weft
