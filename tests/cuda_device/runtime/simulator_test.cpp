#include "tests/cuda_device/runtime/simulator.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace weft::cuda_device {
namespace {

// Another process, whose moves a test makes.
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

TEST(Simulator, WhatMovesElsewhereRightAfterNothingCouldRunEndsTheWait) {
  setenv("WEFT_CUDA_DEVICE_PATIENCE", "2", 1);
  Simulator all;
  unsetenv("WEFT_CUDA_DEVICE_PATIENCE");
  uint64_t moves = 0;
  all.elsewhere = std::make_unique<Other>(moves);
  // The other process sends just after this one has asked whether it has.
  bool sent = false, received = false;
  const auto ready = [&] {
    const bool before = sent;
    sent = true, moves = 1;
    return before;
  };
  const std::lock_guard lock(all.mutex);
  all.enqueue(all.schedule.create_stream(0, false),
              {.name = "receive", .body = [&](OpId) { received = true; }, .ready = ready});
  EXPECT_TRUE(all.run_until([&] { return received; }));
}

TEST(Simulator, AWaitInWhichNothingMovesEndsWithItsPatience) {
  setenv("WEFT_CUDA_DEVICE_PATIENCE", "1", 1);
  Simulator all;
  unsetenv("WEFT_CUDA_DEVICE_PATIENCE");
  uint64_t moves = 0;
  all.elsewhere = std::make_unique<Other>(moves);
  const std::lock_guard lock(all.mutex);
  all.enqueue(all.schedule.create_stream(0, false), {.name = "receive", .ready = [] { return false; }});
  EXPECT_FALSE(all.run_until([] { return false; }));
}

}  // namespace
}  // namespace weft::cuda_device
