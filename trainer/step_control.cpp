#include "trainer/step_control.h"

#include <cstring>

namespace weft {
namespace {
constexpr size_t kSums = sizeof(ControlSums) / sizeof(double), kTimes = sizeof(RankControl) / sizeof(double);
}  // namespace

StepControl reduce_control(Communicator& world, const ControlSums& mine, const RankControl& times) {
  const auto ranks = static_cast<size_t>(world.size()), me = static_cast<size_t>(world.rank());
  // The sums, then a place for each rank's times that the others leave zero.
  std::vector<double> values(kSums + kTimes * ranks, 0);
  double* const all_times = values.data() + kSums;
  std::memcpy(values.data(), &mine, sizeof mine);
  std::memcpy(all_times + kTimes * me, &times, sizeof times);
  world.all_reduce_host(values, ReduceOp::Sum);
  StepControl control{.ranks = std::vector<RankControl>(ranks)};
  std::memcpy(&control.sums, values.data(), sizeof control.sums);
  std::memcpy(control.ranks.data(), all_times, ranks * sizeof(RankControl));
  return control;
}

}  // namespace weft
