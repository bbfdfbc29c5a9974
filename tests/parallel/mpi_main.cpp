// SPDX-License-Identifier: Apache-2.0
// The main() of a GoogleTest binary whose ranks run every test together under mpirun.
#include <gtest/gtest.h>

#include <cstdio>

#include "base/mpi.h"
#include "kernels/device/devices.h"

namespace {

// Rank 0 prints as usual. A failure on any rank ends all of them, since the others may wait for it.
class EndsAllRanks : public testing::EmptyTestEventListener {
 public:
  explicit EndsAllRanks(int rank) : rank_(rank) {}
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_, result.file_name(), result.line_number(), result.message());
    weft::MpiEnvironment::abort(1);
  }

 private:
  int rank_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  weft::load_kernels_with_the_device();  // as launch/main.cpp does for ranks
  const weft::MpiEnvironment mpi(weft::find_launcher());
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (mpi.rank() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new EndsAllRanks(mpi.rank()));
  return RUN_ALL_TESTS();
}
