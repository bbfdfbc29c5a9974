// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/world_status.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/log.h"

namespace weft {
namespace {

constexpr int64_t kBeat = 500'000'000;     // ns between messages to rank 0
constexpr int64_t kForgotten = 4 * kBeat;  // ns after which a rank that rank 0's answers do not name is dropped
constexpr int kMostAtOnce = 1 << 14;       // datagrams per poll, from any sender

// The entries of this node's ranks, as sent to other nodes: with the host and the process state.
std::vector<NodeStatus::Entry> ranks_here(const NodeStatus& page) {
  std::vector<NodeStatus::Entry> ranks = page.read();
  for (NodeStatus::Entry& e : ranks) {
    e.process_state = e.state();
    e.host = host_name();
  }
  return ranks;
}

}  // namespace

WorldStatus::WorldStatus(std::unique_ptr<Datagrams> datagrams, std::optional<DatagramAddress> rank0, const RunKey& key,
                         int rank, int world_size)
    : datagrams_(std::move(datagrams)), rank0_(rank0), key_(key), rank_(rank), world_size_(world_size) {}

void WorldStatus::look(NodeStatus& page) {
  if (rank0_) {
    hear_rank0();
    tell_rank0(page);
  } else {
    answer(page);
  }
  page.tell_of_others(notable(std::nullopt, {}));
}

void WorldStatus::answer(NodeStatus& page) {
  std::set<DatagramAddress> senders;
  for (int i = 0; i < kMostAtOnce; ++i) {
    auto heard = hear();
    if (!heard) break;
    if (!heard->message) continue;
    for (NodeStatus::Entry& e : heard->message->ranks) e.heard_ns = NodeStatus::now_ns();  // the sender's own ranks
    know(heard->message->ranks, heard->from);
    senders.insert(heard->from);
  }
  if (senders.empty()) return;
  const std::vector<NodeStatus::Entry> here = ranks_here(page);
  for (const DatagramAddress& sender : senders) send(notable(sender, here), sender);
}

void WorldStatus::tell_rank0(NodeStatus& page) {
  const int64_t now = NodeStatus::now_ns();
  if (met() && now - sent_ns_ < kBeat) return;
  sent_ns_ = now;
  send(ranks_here(page), *rank0_);
}

void WorldStatus::hear_rank0() {
  for (int i = 0; i < kMostAtOnce; ++i) {
    const auto heard = hear();
    if (!heard) break;
    if (!heard->message) continue;
    answered_ns_ = NodeStatus::now_ns();
    know(heard->message->ranks, heard->from);
  }
  std::erase_if(known_, [this](const auto& k) { return answered_ns_ - k.second.received_ns > kForgotten; });
}

std::optional<WorldStatus::Heard> WorldStatus::hear() {
  const auto received = datagrams_->receive();
  if (!received) return std::nullopt;
  Heard heard{.message = from_datagram(received->bytes, key_, world_size_), .from = received->from};
  if (!heard.message) return heard;
  const bool expected = !rank0_ || (heard.message->sender == 0 && heard.from == *rank0_);
  if (!expected || !heard_[heard.message->sender].take(heard.message->number)) heard.message.reset();
  return heard;
}

void WorldStatus::know(const std::vector<NodeStatus::Entry>& entries, const DatagramAddress& from) {
  for (const NodeStatus::Entry& e : entries) {
    known_[e.rank] = {.entry = e, .received_ns = NodeStatus::now_ns(), .from = from};
  }
}

void WorldStatus::send(const std::vector<NodeStatus::Entry>& entries, const DatagramAddress& to) {
  for (const std::string& bytes : to_datagrams(key_, rank_, sent_, entries)) datagrams_->send(bytes, to);
}

std::vector<NodeStatus::Entry> WorldStatus::notable(const std::optional<DatagramAddress>& without,
                                                    std::vector<NodeStatus::Entry> with) const {
  for (const auto& [rank, known] : known_) {
    if (!without || known.from != *without) with.push_back(known.entry);
  }
  if (with.size() <= NodeStatus::kOthers) return with;
  // A rank that keeps others waiting is not waiting itself, or is silent. Others may rely on rank 0
  // (Watchdog::rely_on).
  const auto order = [](const NodeStatus::Entry& e) {
    return std::tuple(e.rank != 0, e.waits() && !e.silent(), e.progressed_ns);
  };
  std::ranges::partial_sort(with, with.begin() + NodeStatus::kOthers, {}, order);
  with.resize(NodeStatus::kOthers);
  return with;
}

}  // namespace weft
