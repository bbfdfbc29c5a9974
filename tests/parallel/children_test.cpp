// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/children.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

pid_t sleeper() {
  const pid_t child = fork();
  if (child != 0) return child;
  for (;;) pause();
}

TEST(Children, StoppedOnesAreFound) {
  const pid_t works = sleeper(), stops = sleeper();
  EXPECT_THAT(stopped_children(getpid()), IsEmpty());
  kill(stops, SIGSTOP);
  int status = 0;
  waitpid(stops, &status, WUNTRACED);
  EXPECT_THAT(stopped_children(getpid()), ElementsAre(stops));
  EXPECT_THAT(stopped_children(stops), IsEmpty());
  EXPECT_EQ(state_of_process(stops), 'T');
  for (const pid_t child : {works, stops}) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  EXPECT_EQ(state_of_process(stops), 'X');
}

}  // namespace
}  // namespace weft
