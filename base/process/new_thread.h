// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <system_error>
#include <thread>
#include <utility>

namespace weft {

[[noreturn]] void throw_no_thread(const std::system_error& error);

// A thread that runs `work`, in place of the constructor of std::jthread. Throws an Error (exit 8) if the system gives
// no thread: a user and a control group have a limit of threads, and a busy node reaches it for a moment.
template <class Work>
std::jthread new_thread(Work&& work) {
  try {
    return std::jthread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw_no_thread(error);
  }
}

}  // namespace weft
