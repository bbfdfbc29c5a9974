// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/files.h"

namespace weft::test {

enum class ChildResult { Passed, Failed, NoMount };

// Runs `body` in a child process, whose failed expectations are printed and make it fail. Call it before any
// thread is started.
template <class F>
ChildResult in_child(F&& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const ChildResult result = body();
    std::fflush(stdout);
    _exit(result == ChildResult::NoMount ? 77 : testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return ChildResult::Failed;
  if (WEXITSTATUS(status) == 77) return ChildResult::NoMount;
  return WEXITSTATUS(status) == 0 ? ChildResult::Passed : ChildResult::Failed;
}

// Runs `body` in a child with a file system of `bytes` (a tmpfs in a mount namespace of the child, for any user if the
// system lets users have one) mounted at the existing directory `at`.
template <class F>
ChildResult on_small_disk(const fs::path& at, uint64_t bytes, F&& body) {
  return in_child([&] {
    const bool isolated = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    const std::string options = "mode=0777,size=" + std::to_string(bytes);
    if (!isolated || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", at.c_str(), "tmpfs", 0, options.c_str()) != 0) {
      return ChildResult::NoMount;
    }
    body();
    return ChildResult::Passed;
  });
}

constexpr const char* kNoMount = "this system lets no file system be mounted in a namespace";

// Fills the file system that holds `directory`, except for about `left` bytes.
inline void fill_disk(const fs::path& directory, uint64_t left) {
  File filler(directory / "filler", File::Mode::Create);
  const uint64_t free = free_bytes(directory);
  if (free <= left) return;
  const std::string zeros(static_cast<size_t>(free - left), '0');
  filler.write_at(0, zeros.data(), zeros.size());
}

}  // namespace weft::test
