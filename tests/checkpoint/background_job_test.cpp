// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/background_job.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/error.h"
#include "tests/support/no_threads.h"

namespace weft {
namespace {

TEST(BackgroundJob, WithoutAThreadNothingIsUnderWay) {
  BackgroundJob job;
  {
    const test::NoThreads none;
    EXPECT_THROW(job.start([] {}), Error);
  }
  EXPECT_TRUE(job.ended());
  job.wait();
  bool done = false;
  job.start([&] { done = true; });
  job.wait();
  EXPECT_TRUE(done);
}

TEST(BackgroundJob, KeepsItsFailureUntilTheNextWork) {
  BackgroundJob job;
  job.start([] { throw std::runtime_error("a full disk"); });
  job.wait();
  EXPECT_TRUE(job.failed());
  EXPECT_THROW(job.throw_failure(), std::runtime_error);
  job.start([] {});
  job.wait();
  EXPECT_FALSE(job.failed());
}

}  // namespace
}  // namespace weft
