// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/simulator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

namespace weft::cuda_device {
namespace {

// Another process, whose moves the test makes.
class Other : public Elsewhere {
 public:
  explicit Other(const uint64_t& moves) : moves_(moves) {}
  bool any() const override { return true; }
  uint64_t exchange(uint64_t, bool) override { return moves_; }
  bool awaited() const override { return false; }
  std::string positions() const override { return ""; }

 private:
  const uint64_t& moves_;
};

// Whether an operation that may run once `ready` returns true runs, with this many seconds of patience without moves.
bool comes_to_run(const char* patience, const uint64_t& moves, const std::function<bool()>& ready) {
  setenv("WEFT_CUDA_DEVICE_PATIENCE", patience, 1);
  Simulator all;
  unsetenv("WEFT_CUDA_DEVICE_PATIENCE");
  all.elsewhere = std::make_unique<Other>(moves);
  bool ran = false;
  const std::lock_guard lock(all.mutex);
  all.enqueue(all.schedule.create_stream(0, false),
              {.name = "receive", .body = [&](OpId) { ran = true; }, .ready = ready});
  return all.run_until([&] { return ran; });
}

TEST(Simulator, ProgressOfAnotherProcessEndsTheWait) {
  uint64_t moves = 0;
  bool sent = false;
  // The other process sends just after this process has asked whether it did.
  EXPECT_TRUE(comes_to_run("2", moves, [&] {
    moves = 1;
    return std::exchange(sent, true);
  }));
}

TEST(Simulator, AWaitInWhichNothingMovesEndsWithItsPatience) {
  EXPECT_FALSE(comes_to_run("1", 0, [] { return false; }));
}

}  // namespace
}  // namespace weft::cuda_device
