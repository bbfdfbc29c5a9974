// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "parallel/make_host_plane.h"

namespace weft {

// Ranks that each compute on a CUDA device of their own, whose tensors NCCL exchanges, while values and texts go over
// the host plane of each axis. An axis of one rank has nothing to exchange; the world has its host plane alone: what
// decides goes over it, and no tensor does.
//
// A collective is put into a queue of its axis, which first waits for the operations queued so far: they make what it
// reads, and still read what it overwrites. Operations do not wait for it before CollectiveWork::wait(), which queues
// that wait and returns; until then the work keeps its tensors, since the pool would lend their memory to operations
// that nothing orders after it. The host never waits.
//
// No two ranks may start collectives of two axes in different orders: a device may run them one at a time, and then
// each of the two would wait for the other. So one thread starts all of them, in the order of the program, which is the
// same on every rank; and whether one is started must never depend on done(), whose answer differs from rank to rank.
//
// A collective that fails on the way to another rank never ends, and the device waits in it. So where the host reads
// what the ranks have made, it first waits by Mesh::settle(), which asks NCCL meanwhile and throws; and the queue of an
// axis counts the collectives that are done (DeviceProgress), by which a watchdog tells a device that hangs from one
// that works.
//
// Sums of one layout have the same bits in every run and on every rank: NCCL is told its algorithm and protocol, which
// Communicator::sums() names (parallel/nccl/sums.h). Where ranks lie on other machines, or these have other links, its
// rings and the chunks that go around them may be others.

// For `weft doctor`: "2.28.9", the one whose header this was compiled with, or that it was built without.
std::string describe_nccl();
// ConfigError that says how to build it, in a build without NCCL.
void require_nccl(int ranks);
// NCCL refuses two ranks of one machine on one device. It tells machines apart by NCCL_HOSTID: from here on this
// process is one of its own, `machine`, unless the environment says otherwise, and talks to the others through the
// network's sockets (over loopback). Before nccl_mesh().
void let_nccl_share_device(const std::string& machine);
// `context` has the rank's device, and must outlive the mesh. Collective.
Mesh nccl_mesh(const MeshLayout& layout, int world_rank, const MakeHostPlane& make_host_plane, Context& context,
               std::shared_ptr<Heartbeat> heartbeat = nullptr);

}  // namespace weft
