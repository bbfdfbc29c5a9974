// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/nccl/processes.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace weft::cuda_device {
namespace {

class Cliques : public Elsewhere {
 public:
  void add(const std::shared_ptr<Clique>& clique) { joined_.push_back(clique); }

  uint64_t exchange(uint64_t moves, bool waits) override {
    uint64_t there = 0;
    each([&](Clique& clique) {
      clique.tell(moves, waits);
      there += clique.moves_elsewhere();
    });
    return there;
  }
  bool awaited() const override {
    bool any = false;
    each([&](const Clique& clique) { any = any || clique.awaited(); });
    return any;
  }
  bool any() const override {
    bool found = false;
    each([&](const Clique& clique) { found = found || !clique.complete() || !clique.within_process(); });
    return found;
  }
  std::string positions() const override {
    std::string text;
    each([&](const Clique& clique) { text += "; of a communicator " + clique.positions(); });
    return text;
  }

 private:
  template <class Use>
  void each(Use&& use) const {
    for (const std::weak_ptr<Clique>& one : joined_)
      if (const std::shared_ptr<Clique> clique = one.lock()) use(*clique);
  }
  std::vector<std::weak_ptr<Clique>> joined_;
};

// A real device works while its host does other things. The simulated device does not, which nothing inside a process
// notices; but another process that waits for this one's data would wait until this host waits too.
[[noreturn]] void go_on_for_others(Simulator& all) {
  constexpr std::chrono::milliseconds kPause(5);
  constexpr int kAtOnce = 100;
  for (;; std::this_thread::sleep_for(kPause)) {
    const std::lock_guard lock(all.mutex);
    if (all.host_waits() || !all.elsewhere->awaited()) continue;
    for (int k = 0; k < kAtOnce && all.schedule.step(); ++k) {
    }
    all.exchange_moves(false);
  }
}

}  // namespace

void join_processes(Simulator& all, const std::shared_ptr<Clique>& clique) {
  static Cliques* cliques = nullptr;
  if (!cliques) {
    all.elsewhere.reset(cliques = new Cliques);
    std::thread(go_on_for_others, std::ref(all)).detach();
  }
  cliques->add(clique);
}

}  // namespace weft::cuda_device
