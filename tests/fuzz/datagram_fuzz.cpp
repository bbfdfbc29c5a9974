// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/datagram_fuzz.h"

#include <cstring>
#include <string>

#include "base/error.h"
#include "parallel/watch/world_messages.h"
#include "tests/fuzz/text_of.h"

namespace weft::test {
namespace {

constexpr int kWorld = 8;
constexpr size_t kMagic = 8, kSigned = kMagic + sizeof(uint64_t);  // the signature lies between them

}  // namespace

bool reads_datagram(std::span<const uint8_t> bytes) {
  const RunKey key = {1, 2};
  std::string datagram(text_of(bytes));
  if (datagram.size() >= kSigned) {
    const uint64_t signature = siphash(std::string_view(datagram).substr(kSigned), key);
    std::memcpy(datagram.data() + kMagic, &signature, sizeof signature);
  }
  const auto message = from_datagram(datagram, key, kWorld);
  if (!message) return false;
  require<InternalError>(message->sender >= 0 && message->sender < kWorld, "a sender that is no rank");
  for (const NodeStatus::Entry& entry : message->ranks) {
    require<InternalError>(entry.rank >= 0 && entry.rank < kWorld && entry.pid > 0, "a rank that cannot be");
    require<InternalError>(static_cast<int>(entry.at.phase) < kPhases, "a phase that cannot be");
    require<InternalError>(entry.idle_seconds() >= 0 && entry.silent_seconds() >= 0, "a time to come");
    require<InternalError>(!entry.host.empty() && entry.host.size() < 47, "a host that was never sent");
  }
  return true;
}

}  // namespace weft::test
