// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "parallel/communicator.h"

namespace weft {
namespace {

class SingleHostPlane : public HostPlane {
 public:
  void all_reduce(std::span<double>, ReduceOp) override {}
  void broadcast(std::span<std::byte>, int) override {}
  void gather(std::span<const double> mine, std::span<double> all) override {
    if (!all.empty()) std::ranges::copy(mine, all.begin());
  }
  void barrier() override {}
};

class SingleCommunicator : public Communicator {
 public:
  explicit SingleCommunicator(MeshAxis axis) : Communicator(axis, 0, 1, single_host_plane()) {}
  void progress() override {}

 protected:
  std::unique_ptr<CollectiveWork> do_all_reduce(const Tensor&, ReduceOp) override { return completed_work(); }
  std::unique_ptr<CollectiveWork> do_reduce_scatter(const Tensor& in, const Tensor& out) override {
    return copy(in, out);
  }
  std::unique_ptr<CollectiveWork> do_all_gather(const Tensor& in, const Tensor& out) override { return copy(in, out); }
  std::unique_ptr<CollectiveWork> do_all_to_all(const Tensor& in, const Tensor& out) override { return copy(in, out); }
  std::unique_ptr<CollectiveWork> do_broadcast(const Tensor&, int) override { return completed_work(); }

 private:
  static std::unique_ptr<CollectiveWork> copy(const Tensor& in, const Tensor& out) {
    if (!in.meta() && in.place() != out.place()) std::memmove(out.device_raw(), in.device_raw(), in.bytes());
    return completed_work();
  }
};

}  // namespace

std::unique_ptr<HostPlane> single_host_plane() { return std::make_unique<SingleHostPlane>(); }

std::unique_ptr<Communicator> single_communicator(MeshAxis axis) { return std::make_unique<SingleCommunicator>(axis); }

}  // namespace weft
