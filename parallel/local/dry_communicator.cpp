// SPDX-License-Identifier: Apache-2.0
#include "parallel/local/dry_communicator.h"

#include <cstring>

namespace weft {
namespace {

class DryCommunicator : public Communicator {
 public:
  explicit DryCommunicator(const AxisPlace& place)
      : Communicator(place.axis, place.rank, place.size, single_host_plane()) {}
  void progress() override {}

 protected:
  std::unique_ptr<CollectiveWork> do_all_reduce(const Tensor&, ReduceOp) override { return completed_work(); }
  std::unique_ptr<CollectiveWork> do_reduce_scatter(const Tensor& in, const Tensor& out) override {
    if (!out.meta() && out.bytes() > 0) std::memmove(out.device_raw(), in.device_raw() + own(out.bytes()), out.bytes());
    return completed_work();
  }
  std::unique_ptr<CollectiveWork> do_all_gather(const Tensor& in, const Tensor& out) override {
    if (!in.meta() && in.bytes() > 0) std::memmove(out.device_raw() + own(in.bytes()), in.device_raw(), in.bytes());
    return completed_work();
  }
  std::unique_ptr<CollectiveWork> do_all_to_all(const Tensor& in, const Tensor& out) override {
    const size_t piece = in.bytes() / static_cast<size_t>(size());
    if (!in.meta() && piece > 0) std::memcpy(out.device_raw() + own(piece), in.device_raw() + own(piece), piece);
    return completed_work();
  }
  std::unique_ptr<CollectiveWork> do_broadcast(const Tensor&, int) override { return completed_work(); }

 private:
  size_t own(size_t piece) const { return piece * static_cast<size_t>(rank()); }
};

}  // namespace

Mesh dry_mesh(const MeshLayout& layout, Context& context, int world_rank) {
  require<InternalError>(layout.ranks() > 0 && world_rank >= 0 && world_rank < layout.ranks(),
                         "dry mesh: no rank {} in {}", world_rank, layout.text());
  return {layout, world_rank, [&](const AxisPlace& place) {
            auto communicator = std::make_unique<DryCommunicator>(place);
            communicator->record_into(context.ledger());
            return communicator;
          }};
}

}  // namespace weft
