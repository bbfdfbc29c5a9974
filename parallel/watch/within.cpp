// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/within.h"

#include <future>
#include <utility>

#include "base/process/new_thread.h"

namespace weft {

bool finish_within(std::chrono::seconds time, const std::function<void()>& work) {
  std::packaged_task<void()> task(work);
  const std::future<void> done = task.get_future();
  new_thread(std::move(task)).detach();
  return done.wait_for(time) == std::future_status::ready;
}

}  // namespace weft
