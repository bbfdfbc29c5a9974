#include <cstring>

#include "parallel/communicator.h"

namespace weft {
namespace {

class Finished : public Pending {
 public:
  bool done() override { return true; }
  void wait() override {}
};

class SingleCommunicator : public Communicator {
 public:
  explicit SingleCommunicator(std::string axis) : axis_(std::move(axis)) {}
  const std::string& axis() const override { return axis_; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::unique_ptr<Pending> start_all_reduce(const Tensor&, ReduceOp) override { return std::make_unique<Finished>(); }
  std::unique_ptr<Pending> start_reduce_scatter(const Tensor& in, const Tensor& out) override { return copy(in, out); }
  std::unique_ptr<Pending> start_all_gather(const Tensor& in, const Tensor& out) override { return copy(in, out); }
  void broadcast(const Tensor&, int) override {}
  void barrier() override {}
  void progress() override {}

 private:
  static std::unique_ptr<Pending> copy(const Tensor& in, const Tensor& out) {
    require<InternalError>(in.dtype() == out.dtype() && in.elements() == out.elements(), "one rank: {} does not fit {}",
                           in.text(), out.text());
    if (!in.meta() && in.raw() != out.raw()) std::memmove(out.raw(), in.raw(), in.bytes());
    return std::make_unique<Finished>();
  }

  std::string axis_;
};

}  // namespace

std::unique_ptr<Communicator> single_communicator(std::string axis) {
  return std::make_unique<SingleCommunicator>(std::move(axis));
}

}  // namespace weft
