// SPDX-License-Identifier: Apache-2.0
// The calls of NCCL's C interface.
#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>

#include "simulator/libraries/nccl/communicator.h"

using namespace weft::cuda_device;

namespace {

Communicator& of(ncclComm_t c) { return *reinterpret_cast<Communicator*>(c); }

// A longer description of the last error.
std::string& last_error() {
  static auto* const words = new std::string;
  return *words;
}

// Runs `body` under the lock, unless the thread's device has failed.
template <class Body>
ncclResult_t locked(Body&& body) {
  Simulator& all = simulator();
  const std::lock_guard lock(all.mutex);
  if (all.settings.devices == 0 || all.health(this_thread().device) != Status::Success) return ncclUnhandledCudaError;
  return body(all);
}

// Nothing else may be called while a call of the communicator is in progress.
bool is_free(Simulator& all, const Communicator& c, const std::string& call) {
  if (c.under_way)
    all.reports.add(ReportKind::Runtime, call + " while an earlier call of the communicator is in progress");
  return !c.under_way;
}

ncclResult_t collective(const Collective& what, const void* send, void* receive, ncclComm_t c, cudaStream_t stream) {
  return locked([&](Simulator& all) {
    if (!is_free(all, of(c), what.name())) return ncclInvalidUsage;
    Stream* own = all.stream_of(stream);
    if (!own) return ncclInvalidArgument;
    return call(all, of(c), what, send, receive, *own);
  });
}

ncclResult_t transferred(const Transfer& what, ncclComm_t c, cudaStream_t stream) {
  return locked([&](Simulator& all) {
    if (!is_free(all, of(c), "ncclSend or ncclRecv")) return ncclInvalidUsage;
    Stream* own = all.stream_of(stream);
    if (!own) return ncclInvalidArgument;
    return transfer(all, of(c), what, *own);
  });
}

// NCCL_COMM_BLOCKING counts before what the program asks for, as in the real library.
bool blocks(const ncclConfig_t* config) {
  const char* set = std::getenv("NCCL_COMM_BLOCKING");
  return set ? std::string_view(set) != "0" : !config || config->blocking != 0;
}

// Communicators that are neither destroyed nor aborted.
std::set<const Communicator*>& living() {
  static auto* const all = new std::set<const Communicator*>;
  return *all;
}
void forget(ncclComm_t c) {
  living().erase(&of(c));
  delete &of(c);
}
bool others_wait(const Communicator& mine) {
  return std::ranges::any_of(living(), [&](const Communicator* other) {
    return other != &mine && other->device == mine.device && other->clique && !other->clique->idle(other->rank);
  });
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return locked([&](Simulator&) {
    const auto made = Clique::make_id();
    if (made) *id = *made;
    return made ? ncclSuccess : ncclSystemError;
  });
}
ncclResult_t ncclCommInitRank(ncclComm_t* c, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(c, ranks, id, rank, nullptr);
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* c, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return locked([&](Simulator& all) {
    auto* made = new Communicator;
    made->blocking = blocks(config);
    *c = reinterpret_cast<ncclComm_t>(made);
    living().insert(made);
    return join_clique(all, id, ranks, rank, *made);
  });
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
// Waits for pending calls. The real call also waits until no graph holds calls of the communicator; the waiting
// thread could not destroy such a graph.
ncclResult_t ncclCommDestroy(ncclComm_t c) {
  const ncclResult_t waited = locked([&](Simulator& all) {
    const Communicator& mine = of(c);
    if (!is_free(all, mine, "ncclCommDestroy")) return ncclInvalidUsage;
    if (mine.graphs.use_count() > 1)
      all.reports.add(ReportKind::Runtime, "ncclCommDestroy: a graph still holds collectives of the communicator");
    const auto done = [&] {
      return mine.clique->idle(mine.rank) || mine.clique->aborted(mine.rank) ||
             all.health(mine.device) != Status::Success;
    };
    return all.run_until(done) ? ncclSuccess : ncclSystemError;
  });
  const std::lock_guard lock(simulator().mutex);
  forget(c);
  return waited;
}
// Pending calls end without a result. The real call waits for the device, and so for calls of other communicators that
// nothing ends; in a group all are aborted first.
ncclResult_t ncclCommAbort(ncclComm_t c) {
  return locked([&](Simulator& all) {
    if (!in_group() && others_wait(of(c)))
      all.reports.add(ReportKind::Runtime,
                      "ncclCommAbort outside of a group: it waits for the device, where another communicator waits");
    of(c).clique->abort(of(c).rank);
    all.note_move();
    forget(c);
    return ncclSuccess;
  });
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t* error) {
  return locked([&](Simulator&) {
    *error = of(c).under_way ? of(c).under_way->ask() : ncclSuccess;
    if (*error == ncclInProgress) return ncclSuccess;
    of(c).under_way.reset();
    if (*error != ncclSuccess) return ncclSuccess;
    const Clique& clique = *of(c).clique;
    const int rank = of(c).rank;
    *error = clique.failed(rank) ? ncclSystemError : clique.broken(rank) ? ncclRemoteError : ncclSuccess;
    if (*error != ncclSuccess) last_error() = clique.positions();
    return ncclSuccess;
  });
}
ncclResult_t ncclCommCount(const ncclComm_t c, int* count) {
  *count = of(c).ranks();
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t c, int* rank) {
  *rank = of(c).rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(const ncclComm_t c, int* device) {
  *device = of(c).device;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  start_group();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  return locked([](Simulator& all) { return end_group(all); });
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t how,
                           ncclComm_t c, cudaStream_t stream) {
  return collective({Collective::Kind::AllReduce, count, type, how}, send, receive, c, stream);
}
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t how, int root,
                        ncclComm_t c, cudaStream_t stream) {
  return collective({Collective::Kind::Reduce, count, type, how, root}, send, receive, c, stream);
}
ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t stream) {
  return collective({Collective::Kind::Broadcast, count, type, ncclSum, root}, send, receive, c, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t how,
                               ncclComm_t c, cudaStream_t stream) {
  return collective({Collective::Kind::ReduceScatter, count, type, how}, send, receive, c, stream);
}
ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t c,
                           cudaStream_t stream) {
  return collective({Collective::Kind::AllGather, count, type}, send, receive, c, stream);
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
                      cudaStream_t stream) {
  return transferred({true, peer, count, type, const_cast<void*>(data)}, c, stream);
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream) {
  return transferred({false, peer, count, type, data}, c, stream);
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "unknown result code";
  }
}
const char* ncclGetLastError(ncclComm_t) {
  static thread_local std::string said;  // the caller may read it until its next call
  const std::lock_guard lock(simulator().mutex);
  return (said = last_error()).c_str();
}

}  // extern "C"
