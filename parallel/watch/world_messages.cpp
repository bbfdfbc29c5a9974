// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/world_messages.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "parallel/watch/datagrams.h"

namespace weft {
namespace {

struct Head {
  std::array<char, 8> magic{'w', 'e', 'f', 't', 'w', 'd', '0', '2'};
  uint64_t signature = 0;               // siphash of all that follows
  uint64_t order = 0x0102030405060708;  // byte order
  uint64_t number = 0;
  int32_t sender = 0;
  uint32_t ranks = 0;
};
constexpr size_t kSigned = offsetof(Head, order);

struct Word {
  int64_t idle_ns = 0, silent_ns = 0;
  uint64_t progress_count = 0;
  int64_t step = 0, number = 0;
  std::array<int64_t, kMeshAxes> begun{}, queued{}, done{};
  std::array<int32_t, kMeshAxes> group{}, ranks{};
  int32_t rank = 0, pid = 0, device = -1;
  uint8_t phase = 0, waiting = 0, axis = 0, collective = 0;
  char process_state = 0;
  std::array<char, 47> host{};  // zero-terminated
};
static_assert(std::is_trivially_copyable_v<Head> && std::is_trivially_copyable_v<Word>);
static_assert(std::has_unique_object_representations_v<Head> && std::has_unique_object_representations_v<Word>,
              "every byte of a datagram has a meaning");
constexpr size_t kWords = (Datagrams::kMost - sizeof(Head)) / sizeof(Word);
constexpr int64_t kLongest = int64_t{1} << 60;  // ns: 36 years

Word word_of(const NodeStatus::Entry& e, int64_t now) {
  Word w{.idle_ns = std::clamp<int64_t>(now - e.progressed_ns, 0, kLongest),
         .silent_ns = e.heard_ns == 0 ? 0 : std::clamp<int64_t>(now - e.heard_ns, 0, kLongest),
         .progress_count = e.at.progress_count,
         .step = e.at.step,
         .number = e.at.number,
         .begun = e.at.begun,
         .queued = e.at.device.queued,
         .done = e.at.device.done,
         .group = e.at.group,
         .ranks = e.at.ranks,
         .rank = e.rank,
         .pid = e.pid,
         .device = e.at.device.device,
         .phase = static_cast<uint8_t>(e.at.phase),
         .waiting = e.at.waiting,
         .axis = static_cast<uint8_t>(e.at.axis),
         .collective = static_cast<uint8_t>(e.at.collective),
         .process_state = e.process_state};
  std::ranges::copy_n(e.host.begin(), static_cast<std::ptrdiff_t>(std::min(e.host.size(), w.host.size() - 1)),
                      w.host.begin());
  return w;
}

bool possible(const Word& w, int world_size) {
  const auto within = [](int64_t value, int64_t end) { return value >= 0 && value < end; };
  const auto end = std::ranges::find(w.host, '\0');
  const auto printable = [](char c) { return std::isgraph(static_cast<unsigned char>(c)) != 0; };
  return within(w.rank, world_size) && w.pid > 0 && within(w.phase, kPhases) && w.waiting <= 1 &&
         within(w.axis, kMeshAxes) && within(w.collective, kCollectives) && within(w.idle_ns, kLongest + 1) &&
         within(w.silent_ns, kLongest + 1) && w.step >= -1 && printable(w.process_state) && end != w.host.begin() &&
         end != w.host.end() && std::all_of(w.host.begin(), end, printable);
}

NodeStatus::Entry entry_of(const Word& w, int64_t now) {
  NodeStatus::Entry e{.pid = w.pid, .rank = w.rank, .progressed_ns = now - w.idle_ns};
  e.heard_ns = now - w.silent_ns;
  e.process_state = w.process_state;
  e.host = w.host.data();
  e.at = {.progress_count = w.progress_count,
          .step = w.step,
          .phase = static_cast<RunPhase>(w.phase),
          .waiting = w.waiting != 0,
          .axis = static_cast<MeshAxis>(w.axis),
          .collective = static_cast<Collective>(w.collective),
          .number = w.number,
          .begun = w.begun,
          .group = w.group,
          .ranks = w.ranks,
          .device = {.device = w.device, .queued = w.queued, .done = w.done}};
  return e;
}

}  // namespace

std::vector<std::string> to_datagrams(const RunKey& key, int32_t sender, uint64_t& last,
                                      std::span<const NodeStatus::Entry> ranks) {
  const int64_t now = NodeStatus::now_ns();
  std::vector<std::string> datagrams;
  do {
    const auto part = ranks.first(std::min(ranks.size(), kWords));
    ranks = ranks.subspan(part.size());
    const Head head{.number = ++last, .sender = sender, .ranks = static_cast<uint32_t>(part.size())};
    std::string& bytes = datagrams.emplace_back(sizeof head + part.size() * sizeof(Word), '\0');
    std::memcpy(bytes.data(), &head, sizeof head);
    for (size_t i = 0; i < part.size(); ++i) {
      const Word word = word_of(part[i], now);
      std::memcpy(bytes.data() + sizeof head + i * sizeof word, &word, sizeof word);
    }
    const uint64_t signature = siphash(std::string_view(bytes).substr(kSigned), key);
    std::memcpy(bytes.data() + offsetof(Head, signature), &signature, sizeof signature);
  } while (!ranks.empty());
  return datagrams;
}

std::optional<WorldMessage> from_datagram(std::string_view bytes, const RunKey& key, int world_size) {
  Head head;
  const Head ours;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != ours.magic || head.signature != siphash(bytes.substr(kSigned), key)) return std::nullopt;
  if (head.order != ours.order || head.sender < 0 || head.sender >= world_size) return std::nullopt;
  if (head.ranks > kWords || bytes.size() != sizeof head + head.ranks * sizeof(Word)) return std::nullopt;
  const int64_t now = NodeStatus::now_ns();
  WorldMessage message{.sender = head.sender, .number = head.number, .ranks = {}};
  for (size_t i = 0; i < head.ranks; ++i) {
    Word word;
    std::memcpy(&word, bytes.data() + sizeof head + i * sizeof word, sizeof word);
    if (!possible(word, world_size)) return std::nullopt;
    message.ranks.push_back(entry_of(word, now));
  }
  return message;
}

}  // namespace weft
