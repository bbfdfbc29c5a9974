// SPDX-License-Identifier: Apache-2.0
#include "parallel/nccl/communicator.h"

#include <cstdlib>
#include <exception>
#include <utility>

#include "base/log.h"
#include "kernels/device/queue.h"
#include "parallel/nccl/library.h"
#include "parallel/nccl/plane.h"
#include "parallel/nccl/sums.h"

namespace weft {
namespace {

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return ncclFloat32;
    case DType::F64:
      return ncclFloat64;
    case DType::I32:
      return ncclInt32;
    case DType::I64:
      return ncclInt64;
    case DType::BF16:
      return ncclBfloat16;
  }
  throw InternalError("no NCCL type");
}

ncclRedOp_t nccl_op(ReduceOp op) { return op == ReduceOp::Sum ? ncclSum : ncclMax; }

// A collective that ends once the axis' queue passes a mark.
class NcclWork : public CollectiveWork {
 public:
  explicit NcclWork(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)), mark_(queue_->mark()) {}
  // The tensors are freed next, and operations reuse their memory: they must follow the collective even without a wait.
  ~NcclWork() override {
    try {
      finish();
    } catch (const std::exception& error) {  // the device has failed: no operation follows
      log_warning("{}", error.what());
    }
  }
  bool done() override { return !mark_ || mark_->passed(); }

 protected:
  void finish() final {
    if (mark_) queue_->hold_operations_until(*mark_);
    mark_.reset();
  }

 private:
  std::shared_ptr<DeviceQueue> queue_;
  std::unique_ptr<DeviceQueue::Mark> mark_;
};

// An NCCL communicator.
class NcclComm {
 public:
  // Rank 0 of the axis makes the id by which all ranks of the axis find each other.
  NcclComm(std::shared_ptr<NcclPlane> plane, const AxisPlace& place, HostPlane& host, DeviceQueue& queue)
      : plane_(std::move(plane)) {
    queue.handle();  // sets the thread's device, which NCCL uses
    ncclUniqueId id{};
    if (place.rank == 0) plane_->call("ncclGetUniqueId", nullptr, [&] { return library().unique_id(&id); });
    host.broadcast(std::as_writable_bytes(std::span(&id, 1)), 0);
    plane_->call("ncclCommInitRank", comm_, [&] { return library().init_rank(&comm_, place.size, id, place.rank); });
    plane_->add(place.axis, comm_);
  }
  ~NcclComm() { plane_->remove(comm_); }
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;
  const NcclLibrary& library() const { return plane_->library(); }
  NcclPlane& plane() const { return *plane_; }
  ncclComm_t get() const { return comm_; }

 private:
  std::shared_ptr<NcclPlane> plane_;
  ncclComm_t comm_ = nullptr;
};

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(const AxisPlace& place, std::unique_ptr<HostPlane> host, std::shared_ptr<DeviceQueue> queue,
                   std::unique_ptr<NcclComm> comm, std::string sums)
      : Communicator(place.axis, place.rank, place.size, std::move(host)),
        queue_(std::move(queue)),
        comm_(std::move(comm)),
        sums_(std::move(sums)) {}
  void progress() override {}
  std::string sums() const override { return sums_; }

 protected:
  std::shared_ptr<const std::atomic<uint64_t>> count_of_done() const override { return queue_->count(); }
  std::unique_ptr<CollectiveWork> do_all_reduce(const Tensor& t, ReduceOp op) override {
    return start("ncclAllReduce", [&](cudaStream_t stream) {
      return comm_->library().all_reduce(t.device_raw(), t.device_raw(), count(t), nccl_type(t.dtype()), nccl_op(op),
                                         comm_->get(), stream);
    });
  }
  std::unique_ptr<CollectiveWork> do_reduce_scatter(const Tensor& in, const Tensor& out) override {
    return start("ncclReduceScatter", [&](cudaStream_t stream) {
      return comm_->library().reduce_scatter(in.device_raw(), out.device_raw(), count(out), nccl_type(in.dtype()),
                                             ncclSum, comm_->get(), stream);
    });
  }
  std::unique_ptr<CollectiveWork> do_all_gather(const Tensor& in, const Tensor& out) override {
    return start("ncclAllGather", [&](cudaStream_t stream) {
      return comm_->library().all_gather(in.device_raw(), out.device_raw(), count(in), nccl_type(in.dtype()),
                                         comm_->get(), stream);
    });
  }
  // Not every NCCL 2 has an all-to-all. It consists of sends and receives in one group, including those to the rank
  // itself.
  std::unique_ptr<CollectiveWork> do_all_to_all(const Tensor& in, const Tensor& out) override {
    const size_t elements = count(in) / static_cast<size_t>(size()), bytes = elements * size_of(in.dtype());
    return start("ncclSend and ncclRecv", [&, type = nccl_type(in.dtype())](cudaStream_t stream) {
      return grouped([&] {
        ncclResult_t result = ncclSuccess;
        for (int peer = 0; peer < size() && NcclLibrary::taken(result); ++peer) {
          const size_t at = bytes * static_cast<size_t>(peer);
          result = comm_->library().send(in.device_raw() + at, elements, type, peer, comm_->get(), stream);
          if (!NcclLibrary::taken(result)) break;
          result = comm_->library().receive(out.device_raw() + at, elements, type, peer, comm_->get(), stream);
        }
        return result;
      });
    });
  }
  std::unique_ptr<CollectiveWork> do_broadcast(const Tensor& t, int root) override {
    return start("ncclBroadcast", [&](cudaStream_t stream) {
      return comm_->library().broadcast(t.device_raw(), t.device_raw(), count(t), nccl_type(t.dtype()), root,
                                        comm_->get(), stream);
    });
  }

 private:
  // The group is ended even if a call in it failed.
  template <class Calls>
  ncclResult_t grouped(Calls&& calls) const {
    const ncclResult_t began = comm_->library().group_start();
    if (began != ncclSuccess) return began;
    const ncclResult_t called = calls(), ended = comm_->library().group_end();
    return NcclLibrary::taken(called) ? ended : called;
  }

  static size_t count(const Tensor& t) { return static_cast<size_t>(t.elements()); }

  template <class Call>
  std::unique_ptr<CollectiveWork> start(const char* name, Call&& call) {
    // The collective follows the operations that make its input, and those that read memory that it overwrites.
    queue_->follow_operations();
    comm_->plane().call(name, comm_->get(), [&] { return call(static_cast<cudaStream_t>(queue_->handle())); });
    queue_->count_up();
    // Operations that wait for the collective wait for this mark. It follows the count, which only reports read, since
    // a graph's launch, which has its own streams, follows what operations waited for and counts there.
    return std::make_unique<NcclWork>(queue_);
  }

  std::shared_ptr<DeviceQueue> queue_;
  std::unique_ptr<NcclComm> comm_;
  std::string sums_;
};

// An axis that exchanges no tensors.
class HostCommunicator : public Communicator {
 public:
  HostCommunicator(const AxisPlace& place, std::unique_ptr<HostPlane> host)
      : Communicator(place.axis, place.rank, place.size, std::move(host)) {}
  void progress() override {}

 protected:
  std::unique_ptr<CollectiveWork> do_all_reduce(const Tensor&, ReduceOp) override { refuse(); }
  std::unique_ptr<CollectiveWork> do_reduce_scatter(const Tensor&, const Tensor&) override { refuse(); }
  std::unique_ptr<CollectiveWork> do_all_gather(const Tensor&, const Tensor&) override { refuse(); }
  std::unique_ptr<CollectiveWork> do_all_to_all(const Tensor&, const Tensor&) override { refuse(); }
  std::unique_ptr<CollectiveWork> do_broadcast(const Tensor&, int) override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw InternalError(fmt::format("devices exchange nothing over {}", name(axis())));
  }
};

}  // namespace

std::string describe_nccl() { return fmt::format("{}.{}.{}", NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH); }

void require_nccl(int) {}

void let_nccl_share_device(const std::string& machine) { setenv("NCCL_HOSTID", machine.c_str(), 0); }

Mesh nccl_mesh(const MeshLayout& layout, int world_rank, const MakeHostPlane& make_host_plane, Context& context,
               std::shared_ptr<Heartbeat> heartbeat) {
  const auto library = NcclLibrary::open();
  const std::string sums = pin_sums(*library);
  if (!heartbeat) heartbeat = std::make_shared<Heartbeat>();
  heartbeat->device().compute_on(context.device().index);
  const auto plane = std::make_shared<NcclPlane>(
      library, fmt::format("rank {} ({}, cuda:{})", world_rank, host_name(), context.device().index),
      make_device_queue(context), heartbeat);
  const auto make = [&](const AxisPlace& place) -> std::unique_ptr<Communicator> {
    if (place.axis == MeshAxis::World) return std::make_unique<HostCommunicator>(place, make_host_plane(place));
    if (place.size == 1) return single_communicator(place.axis);
    std::unique_ptr<HostPlane> host = make_host_plane(place);
    std::shared_ptr<DeviceQueue> queue = make_device_queue(context);
    auto comm = std::make_unique<NcclComm>(plane, place, *host, *queue);
    return std::make_unique<NcclCommunicator>(place, std::move(host), std::move(queue), std::move(comm), sums);
  };
  Mesh mesh(layout, world_rank, make, std::move(heartbeat));
  mesh.set_device_plane(plane);
  return mesh;
}

}  // namespace weft
