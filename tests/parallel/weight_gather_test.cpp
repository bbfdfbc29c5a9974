// SPDX-License-Identifier: Apache-2.0
// Readers of gathered weights wait for their bucket, and for no other.
#include "parallel/parameters/weight_gather.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "kernels/context.h"
#include "parallel/local/in_process.h"
#include "parallel/parameters/parameter.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Log = std::vector<std::string>;

// One of two replicas; it notes the first element of every gather that begins and of every gather that is waited for.
class NotedReplicas : public Communicator {
 public:
  NotedReplicas(const Tensor& flat, Log& log)
      : Communicator(MeshAxis::Dp, 0, 2, single_host_plane()), flat_(flat), log_(log) {}
  void progress() override {}

 protected:
  std::unique_ptr<CollectiveWork> do_all_gather(const Tensor&, const Tensor& out) override {
    const auto first = (out.device_raw() - flat_.device_raw()) / static_cast<int64_t>(sizeof(float));
    log_.push_back(fmt::format("begin {}", first));
    return std::make_unique<Work>(log_, first);
  }
  std::unique_ptr<CollectiveWork> do_all_reduce(const Tensor&, ReduceOp) override { return nullptr; }
  std::unique_ptr<CollectiveWork> do_reduce_scatter(const Tensor&, const Tensor&) override { return nullptr; }
  std::unique_ptr<CollectiveWork> do_all_to_all(const Tensor&, const Tensor&) override { return nullptr; }
  std::unique_ptr<CollectiveWork> do_broadcast(const Tensor&, int) override { return nullptr; }

 private:
  class Work : public CollectiveWork {
   public:
    Work(Log& log, int64_t first) : log_(log), first_(first) {}
    bool done() override { return false; }

   protected:
    void finish() override {
      log_.push_back(fmt::format("wait {}", first_));
      const auto began = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() == began) continue;  // it takes time
    }

   private:
    Log& log_;
    int64_t first_;
  };
  const Tensor& flat_;
  Log& log_;
};

// Four parameters of 128 elements, each in a bucket of its own; the first is frozen. Bucket 3 begins at element 0.
class WeightGathers : public testing::Test {
 protected:
  Log said() { return std::exchange(log_, {}); }

  Context context_;
  const std::vector<int64_t> sizes_ = {128, 128, 128, 128};
  const FlatLayout layout_ = make_flat_layout(
      sizes_, sizeof(float), {.zero = ZeroStage::Optimizer, .bucket_bytes = 512}, 0, 2, {true, false, false, false});
  const Tensor flat_ = context_.zeros(Shape{layout_.elements}, DType::F32);
  Log log_;
  NotedReplicas replicas_{flat_, log_};
  WeightGather gather_{context_, replicas_, layout_, flat_};
};

TEST_F(WeightGathers, BeginWithTheUpdateAndAreWaitedForByTheirReaders) {
  for (const size_t bucket : {2, 1, 0}) gather_.updated(bucket);
  EXPECT_THAT(said(), ElementsAre("begin 128", "begin 256", "begin 384"));
  gather_.await(3);
  EXPECT_THAT(said(), IsEmpty()) << "nothing gathers frozen weights";
  gather_.await(1);
  gather_.await(1);
  EXPECT_THAT(said(), ElementsAre("wait 256")) << "the others are still under way";
  gather_.await_started();
  EXPECT_THAT(said(), ElementsAre("wait 128", "wait 384"));
  gather_.await_all();
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(WeightGathers, BeginWithTheForwardPassWhereAGraphHidesThem) {
  gather_.begin(WeightGather::Begin::AtForward);
  gather_.updated(0), gather_.updated(2);
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THROW(gather_.await(2), InternalError) << "the weights are old";
  EXPECT_THROW(gather_.await_all(), InternalError);
  gather_.await(1);
  gather_.start_due();
  EXPECT_THAT(said(), ElementsAre("begin 128", "begin 384")) << "in the order in which a forward pass reads them";
  gather_.await(2);
  EXPECT_THAT(said(), ElementsAre("wait 128"));
  gather_.await_all();
  EXPECT_THAT(said(), ElementsAre("wait 384"));
  gather_.start_due();
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(WeightGathers, BesideGraphsAreOfAllTrainedBuckets) {
  gather_.begin(WeightGather::Begin::AtForward);
  gather_.updated_by_graph();
  gather_.await(3);  // frozen
  gather_.start_due();
  EXPECT_THAT(said(), ElementsAre("begin 128", "begin 256", "begin 384"));
  gather_.await_all();
  gather_.updated_by_graph();
  EXPECT_THROW(gather_.await(0), InternalError);
  gather_.gathered_by_graph();
  said();
  gather_.await_all();
  gather_.start_due();
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(WeightGathers, CountTheSecondsThatAreWaited) {
  gather_.updated(1), gather_.updated(0);
  gather_.await(1);
  EXPECT_GT(gather_.take_waited(), 0);
  EXPECT_EQ(gather_.take_waited(), 0);
  gather_.await(0);
  gather_.forget_waited();
  EXPECT_EQ(gather_.take_waited(), 0);
}

// The values that a replica reads are those that the others have written, without a call between.
TEST(GatheredWeights, AreThereWhenTheyAreRead) {
  run_in_process({.dp = 2}, [](Mesh& mesh, int rank) {
    Context context;
    ParameterRegistry registry(context, mesh);
    for (const char* name : {"a", "b", "c"}) registry.add({.name = name, .shape = {128}});
    registry.allocate(Precision::Fp32, Purpose::Training, {.zero = ZeroStage::Optimizer, .bucket_bytes = 512});
    registry.initialise(1);
    for (size_t i = 0; i < 3; ++i) {
      for (float& value : registry.master().piece(registry.layout().owned[i]).span<float>()) {
        value = static_cast<float>(10 * i + static_cast<size_t>(rank));
      }
      const uint64_t before = registry.weights_version();
      registry.note_updated(i);
      EXPECT_NE(registry.weights_version(), before);
    }
    for (const auto& p : registry.parameters()) {
      const auto values = p->value().span<float>();
      const auto bucket = static_cast<float>(2 - p->index());
      EXPECT_EQ(values[0], 10 * bucket);
      EXPECT_EQ(values[127], 10 * bucket + 1);
    }
  });
}

}  // namespace
}  // namespace weft
