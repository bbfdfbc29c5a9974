// SPDX-License-Identifier: Apache-2.0
#include "base/process/console.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/output.h"
#include "base/process/new_thread.h"
#include "base/progress.h"

namespace weft {

struct Console::Queue {
  struct Item {
    ConsoleText kind;
    std::string text;
  };

  void add(Item item) {
    const bool renews = item.kind == ConsoleText::State && !items.empty() && items.back().kind == ConsoleText::State;
    if (renews) {
      items.back() = std::move(item);
      return;
    }
    items.push_back(std::move(item));
    if (items.size() <= kMostQueued) return;
    const auto least = std::ranges::find_if(items, [](const Item& i) { return i.kind != ConsoleText::Problem; });
    items.erase(least == items.end() ? items.begin() : least);
    ++dropped;
  }

  // What is to be written next: the oldest text, after the number of lines that are missing before it.
  std::string take() {
    std::string text;
    if (dropped > 0) text = fmt::format("({} left out: this console took no text)\n", counted(dropped, "line"));
    dropped = 0;
    text += items.front().text;
    items.pop_front();
    return text;
  }

  void run(int file) {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return ending || !items.empty(); });
      if (items.empty()) return;
      const std::string text = take();
      writing = true;
      lock.unlock();
      const bool written = write_lines(file, text);
      lock.lock();
      writing = false;
      lost = lost || !written;
      if (items.empty()) written_all.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed, written_all;
  std::deque<Item> items;
  int64_t dropped = 0;
  bool writing = false, lost = false, ending = false;
  std::jthread thread;
};

Console::Console(int file) : file_(file) {}

Console::~Console() {
  if (!queue_) return;
  const bool written = flush();
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->ending = true;
  }
  queue_->changed.notify_all();
  std::jthread thread = std::move(queue_->thread);
  if (written) {
    thread.join();
  } else {
    thread.detach();
  }
}

void Console::write_in_background() {
  if (queue_) return;
  auto queue = std::make_shared<Queue>();
  queue->thread = new_thread([queue, file = file_] { queue->run(file); });
  queue_ = std::move(queue);
}

bool Console::write(ConsoleText kind, std::string text) {
  if (!queue_) return write_lines(file_, text);
  if (kind == ConsoleText::Line || kind == ConsoleText::Problem) text = utc_time() + " " + text;
  const std::lock_guard lock(queue_->mutex);
  queue_->add({kind, std::move(text)});
  queue_->changed.notify_one();
  return !queue_->lost;
}

bool Console::flush(std::chrono::milliseconds most) {
  if (!queue_) return true;
  std::unique_lock lock(queue_->mutex);
  return queue_->written_all.wait_for(lock, most, [this] { return queue_->items.empty() && !queue_->writing; });
}

}  // namespace weft
