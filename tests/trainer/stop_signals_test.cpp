// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/process/signals.h"
#include "kernels/ops/matmul.h"

namespace weft {
namespace {

// Multiplies until a signal has asked for a stop, then uses the heap; returns 0 if all went well.
int multiply_until_stopped(int ready) {
  const StopSignals signals;
  Context context({}, 1);
  const Tensor a = context.zeros({700, 300}, DType::F32), b = context.zeros({300, 500}, DType::F32);
  const Tensor c = context.empty({700, 500}, DType::F32);
  if (write(ready, "r", 1) != 1) return 1;
  while (!StopSignals::stop_asked()) matmul(context, {.a = a, .b = b, .c = c});
  for (int i = 0; i < 50; ++i) matmul(context, {.a = a, .b = b, .c = c});
  return 0;
}

// Forks a child that multiplies, sends it `signals` at some instant, and returns its wait status.
int run_child(int delay_microseconds, const std::vector<int>& signals) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) _exit(multiply_until_stopped(ready[1]));
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) return -1;
  std::this_thread::sleep_for(std::chrono::microseconds(delay_microseconds));
  for (const int signal : signals) {
    kill(child, signal);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(ready[0]), close(ready[1]);
  return status;
}

// The frame of a handler that ran on the computing thread would be written into oneDNN's buffers.
TEST(StopSignals, NeverTouchARunningProduct) {
  for (int i = 0; i < 30; ++i) EXPECT_EQ(run_child(1000 + 137 * i, {i % 2 ? SIGUSR1 : SIGTERM}), 0) << i;
}

TEST(StopSignals, AllThatASchedulerOrATerminalSendsAskForAStop) {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP, SIGXCPU}) {
    const StopSignals signals;
    EXPECT_FALSE(StopSignals::stop_asked());
    kill(getpid(), signal);
    for (int i = 0; i < 1000 && !StopSignals::stop_asked(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(StopSignals::stop_asked()) << signal;
  }
}

TEST(StopSignals, WhatWasIgnoredStaysIgnored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);  // as nohup does
  {
    const StopSignals signals;
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGUSR1);
    while (!StopSignals::stop_asked()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a second signal would end the process
  }
  EXPECT_EQ(::signal(SIGHUP, before), SIG_IGN);
}

TEST(StopSignals, ASecondSignalEndsAtOnce) {
  const pid_t child = fork();
  if (child == 0) {
    const StopSignals signals;
    for (;;) pause();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(child, SIGUSR1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0);
  kill(child, SIGUSR1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGUSR1);
}

}  // namespace
}  // namespace weft
