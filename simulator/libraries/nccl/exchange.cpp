// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/nccl/exchange.h"

#include <algorithm>
#include <cstring>

namespace weft::cuda_device {
namespace {

// One send or receive. A message begins with the number of entries, and the entries; the sent bytes follow.
struct Entry {
  uint64_t sends, peer, count, type;
  std::string amount() const { return std::to_string(count) + " elements of type " + std::to_string(type); }
};

std::vector<Entry> entries_of(const Bytes& message) {
  uint64_t number = 0;
  std::memcpy(&number, message.data(), sizeof number);
  std::vector<Entry> entries(number);
  std::memcpy(entries.data(), message.data() + sizeof number, number * sizeof(Entry));
  return entries;
}

std::vector<Entry> between(const Bytes& message, bool sends, int peer) {
  std::vector<Entry> found = entries_of(message);
  std::erase_if(found,
                [&](const Entry& e) { return (e.sends != 0) != sends || e.peer != static_cast<uint64_t>(peer); });
  return found;
}

std::optional<std::string> misfit(int from, const Bytes& sender, int to, const Bytes& receiver) {
  const std::vector<Entry> sent = between(sender, true, to), awaited = between(receiver, false, from);
  const auto text = [](const std::vector<Entry>& all, size_t k) {
    return k < all.size() ? all[k].amount() : std::string("nothing");
  };
  for (size_t k = 0; k < std::max(sent.size(), awaited.size()); ++k) {
    if (text(sent, k) == text(awaited, k)) continue;
    return "rank " + std::to_string(from) + " sends " + text(sent, k) + " to rank " + std::to_string(to) +
           ", which receives " + text(awaited, k) + " from it";
  }
  return std::nullopt;
}

}  // namespace

Bytes packed(const std::vector<Transfer>& transfers, const std::function<Bytes(const Transfer&)>& read) {
  Bytes message;
  const auto add = [&](const void* from, size_t bytes) {
    const auto* data = static_cast<const std::byte*>(from);
    message.insert(message.end(), data, data + bytes);
  };
  const uint64_t number = transfers.size();
  add(&number, sizeof number);
  for (const Transfer& t : transfers) {
    const Entry entry{t.sends, static_cast<uint64_t>(t.peer), t.count, static_cast<uint64_t>(t.type)};
    add(&entry, sizeof entry);
  }
  for (const Transfer& t : transfers) {
    if (!t.sends) continue;
    const Bytes data = read(t);
    add(data.data(), data.size());
  }
  return message;
}

std::optional<std::string> misfit(int rank, const std::vector<Bytes>& messages) {
  const Bytes& mine = messages[static_cast<size_t>(rank)];
  for (size_t other = 0; other < messages.size(); ++other) {
    const auto peer = static_cast<int>(other);
    if (auto sent = misfit(rank, mine, peer, messages[other])) return sent;
    if (auto received = misfit(peer, messages[other], rank, mine)) return received;
  }
  return std::nullopt;
}

std::vector<Bytes> received_from(int peer, int rank, const std::vector<Bytes>& messages) {
  const Bytes& message = messages[static_cast<size_t>(peer)];
  const std::vector<Entry> entries = entries_of(message);
  const std::byte* at = message.data() + sizeof(uint64_t) + entries.size() * sizeof(Entry);
  std::vector<Bytes> received;
  for (const Entry& e : entries) {
    if (e.sends == 0) continue;
    const size_t bytes = e.count * bytes_of(static_cast<ncclDataType_t>(e.type));
    if (e.peer == static_cast<uint64_t>(rank)) received.emplace_back(at, at + bytes);
    at += bytes;
  }
  return received;
}

}  // namespace weft::cuda_device
