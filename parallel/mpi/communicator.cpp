// SPDX-License-Identifier: Apache-2.0
#include "parallel/mpi/communicator.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include "parallel/mpi/chain.h"

namespace weft {
namespace {

MPI_Datatype mpi_type(DType dtype, bool summed) {
  switch (dtype) {
    case DType::F32:
      return MPI_FLOAT;
    case DType::F64:
      return MPI_DOUBLE;
    case DType::I32:
      return MPI_INT32_T;
    case DType::I64:
      return MPI_INT64_T;
    case DType::BF16:
      require<InternalError>(!summed, "MPI cannot reduce bf16: reduce in fp32");
      return MPI_UINT16_T;
  }
  throw InternalError("no MPI type");
}

// A datatype of `count` contiguous elements; successive items of the datatype are `extent` bytes apart. MPI keeps a
// copy while messages use it.
class MpiType {
 public:
  MpiType(MPI_Datatype element, int count, MPI_Aint extent) {
    MPI_Datatype dense = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(count, element, &dense), "MPI_Type_contiguous");
    check_mpi(MPI_Type_create_resized(dense, 0, extent, &type_), "MPI_Type_create_resized");
    MPI_Type_free(&dense);
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  ~MpiType() { MPI_Type_free(&type_); }
  MpiType(const MpiType&) = delete;
  MpiType& operator=(const MpiType&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// Several MPI requests as one collective.
class MpiWork : public CollectiveWork {
 public:
  // While an exception unwinds, other ranks may never arrive; the next MPI call is MPI_Abort, so do not wait here.
  ~MpiWork() override {
    if (!requests_.empty() && std::uncaught_exceptions() == 0)
      MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }
  // A copy of the data, which lives as long as the requests run.
  const std::byte* keep(std::span<const std::byte> bytes) {
    kept_.assign(bytes.begin(), bytes.end());
    return kept_.data();
  }
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  bool done() override {
    int flag = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    return flag != 0;
  }

 protected:
  void finish() override {
    check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

 private:
  std::vector<MPI_Request> requests_;
  std::vector<std::byte> kept_;
};

MPI_Op mpi_op(ReduceOp op) { return op == ReduceOp::Sum ? MPI_SUM : MPI_MAX; }

int rank_in(const MpiComm& comm) {
  int rank = 0;
  MPI_Comm_rank(comm.get(), &rank);
  return rank;
}
int size_of_comm(const MpiComm& comm) {
  int size = 1;
  MPI_Comm_size(comm.get(), &size);
  return size;
}

class MpiHostPlane : public HostPlane {
 public:
  explicit MpiHostPlane(std::shared_ptr<const MpiComm> comm) : comm_(std::move(comm)) {}
  void all_reduce(std::span<double> values, ReduceOp op) override {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, mpi_op(op),
                            comm_->get()),
              "MPI_Allreduce");
  }
  void broadcast(std::span<std::byte> bytes, int root) override {
    check_mpi(MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, root, comm_->get()), "MPI_Bcast");
  }
  void gather(std::span<const double> mine, std::span<double> all) override {
    const auto count = static_cast<int>(mine.size());
    check_mpi(MPI_Gather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, comm_->get()), "MPI_Gather");
  }
  void barrier() override { check_mpi(MPI_Barrier(comm_->get()), "MPI_Barrier"); }

 private:
  std::shared_ptr<const MpiComm> comm_;
};

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MeshAxis axis, const std::shared_ptr<const MpiComm>& comm, const MpiMessages& messages)
      : Communicator(axis, rank_in(*comm), size_of_comm(*comm), std::make_unique<MpiHostPlane>(comm)),
        comm_(comm),
        messages_(messages),
        chain_(std::make_shared<MpiChain>(comm, rank(), size(), messages.chunk_bytes)) {}

  void progress() override {
    if (!chain_->idle()) return chain_->progress();
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_->get(), &flag, MPI_STATUS_IGNORE);
  }

 protected:
  // MPI's in-place all-reduce would always send the whole message up a tree and down again.
  std::unique_ptr<CollectiveWork> do_all_reduce(const Tensor& t, ReduceOp op) override {
    if (size() == 1) return completed_work();
    if (goes_by_chain(t)) return chain_->all_reduce(t, op);
    auto pending = std::make_unique<MpiWork>();
    const std::byte* mine = pending->keep({t.device_raw(), t.bytes()});
    check_mpi(MPI_Iallreduce(mine, t.device_raw(), static_cast<int>(t.elements()), mpi_type(t.dtype(), true),
                             mpi_op(op), comm_->get(), pending->add()),
              "MPI_Iallreduce");
    return pending;
  }

  // The choice depends on the elements of all pieces together, which MPI counts.
  std::unique_ptr<CollectiveWork> do_reduce_scatter(const Tensor& in, const Tensor& out) override {
    if (size() == 1) {
      if (in.bytes() > 0) std::memmove(out.device_raw(), in.device_raw(), in.bytes());
      return completed_work();
    }
    if (goes_by_chain(in)) return chain_->reduce_scatter(in, out);
    auto pending = std::make_unique<MpiWork>();
    check_mpi(MPI_Ireduce_scatter_block(in.device_raw(), out.device_raw(), static_cast<int>(out.elements()),
                                        mpi_type(in.dtype(), true), MPI_SUM, comm_->get(), pending->add()),
              "MPI_Ireduce_scatter_block");
    return pending;
  }

  std::unique_ptr<CollectiveWork> do_all_gather(const Tensor& in, const Tensor& out) override {
    auto pending = std::make_unique<MpiWork>();
    const MPI_Datatype type = mpi_type(in.dtype(), false);
    const bool in_place = in.device_raw() == out.device_raw() + in.bytes() * static_cast<size_t>(rank());
    pieces(in, in.elements(), [&](std::byte* at, int count) {
      // Data from rank r is stored r whole shares further on, however small the piece.
      const MpiType share(type, count, static_cast<MPI_Aint>(in.bytes()));
      check_mpi(MPI_Iallgather(in_place ? MPI_IN_PLACE : at, count, type, out.device_raw() + (at - in.device_raw()), 1,
                               share.get(), comm_->get(), pending->add()),
                "MPI_Iallgather");
    });
    return pending;
  }

  std::unique_ptr<CollectiveWork> do_all_to_all(const Tensor& in, const Tensor& out) override {
    auto pending = std::make_unique<MpiWork>();
    const MPI_Datatype type = mpi_type(in.dtype(), false);
    const Tensor first = in.flat(0, Shape{in.elements() / size()});  // rank 0's piece
    pieces(first, first.elements(), [&](std::byte* at, int count) {
      // Data to and from rank r lies r whole pieces further on, however small the part.
      const MpiType share(type, count, static_cast<MPI_Aint>(first.bytes()));
      check_mpi(MPI_Ialltoall(at, 1, share.get(), out.device_raw() + (at - in.device_raw()), 1, share.get(),
                              comm_->get(), pending->add()),
                "MPI_Ialltoall");
    });
    return pending;
  }

  std::unique_ptr<CollectiveWork> do_broadcast(const Tensor& t, int root) override {
    auto pending = std::make_unique<MpiWork>();
    pieces(t, t.elements(), [&](std::byte* at, int count) {
      check_mpi(MPI_Ibcast(at, count, mpi_type(t.dtype(), false), root, comm_->get(), pending->add()), "MPI_Ibcast");
    });
    return pending;
  }

 private:
  template <class Call>
  void pieces(const Tensor& t, int64_t elements, Call&& call) const {
    const auto width = static_cast<int64_t>(size_of(t.dtype()));
    for (int64_t at = 0; at < elements; at += messages_.max_count) {
      call(t.device_raw() + at * width, static_cast<int>(std::min(messages_.max_count, elements - at)));
    }
  }
  bool goes_by_chain(const Tensor& t) const {
    return static_cast<int64_t>(t.bytes()) >= messages_.chain_bytes || t.elements() > messages_.max_count;
  }

  std::shared_ptr<const MpiComm> comm_;
  MpiMessages messages_;
  std::shared_ptr<MpiChain> chain_;
};

}  // namespace

std::unique_ptr<Communicator> mpi_communicator(MeshAxis axis, MpiComm comm, const MpiMessages& messages) {
  return std::make_unique<MpiCommunicator>(axis, std::make_shared<const MpiComm>(std::move(comm)), messages);
}

std::unique_ptr<HostPlane> mpi_host_plane(const AxisPlace& place) {
  auto comm = MpiComm::split(MPI_COMM_WORLD, place.group, place.rank);
  return std::make_unique<MpiHostPlane>(std::make_shared<const MpiComm>(std::move(comm)));
}

Mesh mpi_mesh(const MeshLayout& layout, std::shared_ptr<Heartbeat> heartbeat) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return {layout, rank,
          [](const AxisPlace& place) {
            return mpi_communicator(place.axis, MpiComm::split(MPI_COMM_WORLD, place.group, place.rank));
          },
          std::move(heartbeat)};
}

}  // namespace weft
