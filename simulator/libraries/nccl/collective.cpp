// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/nccl/collective.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace weft::cuda_device {
namespace {

// A bf16 number that rounds whenever it is stored.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f);
    bits = f != f ? uint16_t{0x7fff} : static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

template <class T>
T combined(ncclRedOp_t how, T a, T b) {
  switch (how) {
    case ncclProd:
      return static_cast<T>(a * b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return static_cast<T>(a + b);  // a sum, also for an average
  }
}

// Sums go around a ring from the first rank on, or from the last one if NCCL_ALGO names trees: another algorithm
// gives other bits.
bool from_the_last() {
  const char* said = std::getenv("NCCL_ALGO");
  return said && std::strstr(said, "tree");
}

template <class T>
void reduce(ncclRedOp_t how, const std::vector<Bytes>& sent, size_t first, size_t count, std::byte* to) {
  const bool backwards = from_the_last();
  for (size_t k = 0; k < count; ++k) {
    T all{};
    for (size_t turn = 0; turn < sent.size(); ++turn) {
      const Bytes& rank = sent[backwards ? sent.size() - 1 - turn : turn];
      T one;
      std::memcpy(&one, rank.data() + (first + k) * sizeof(T), sizeof one);
      all = turn == 0 ? one : combined(how, all, one);
    }
    if (how == ncclAvg) all = static_cast<T>(all / static_cast<T>(static_cast<float>(sent.size())));
    std::memcpy(to + k * sizeof(T), &all, sizeof all);
  }
}

void reduce(const Collective& what, const std::vector<Bytes>& sent, size_t first, std::byte* to) {
  const auto of = [&]<class T>(T) { reduce<T>(what.reduction, sent, first, what.count, to); };
  switch (what.type) {
    case ncclInt8:
      return of(int8_t{});
    case ncclUint8:
      return of(uint8_t{});
    case ncclInt32:
      return of(int32_t{});
    case ncclUint32:
      return of(uint32_t{});
    case ncclInt64:
      return of(int64_t{});
    case ncclUint64:
      return of(uint64_t{});
    case ncclFloat64:
      return of(double{});
    case ncclBfloat16:
      return of(BFloat16{});
    default:
      return of(float{});
  }
}

}  // namespace

// The types of 8 bits come after bf16, and older headers lack them.
bool is_known(ncclDataType_t type) { return type >= 0 && type <= ncclBfloat16 && type != ncclFloat16; }

size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

size_t Collective::send_bytes(int rank, int ranks) const {
  if (kind == Kind::Broadcast && rank != root) return 0;
  return count * bytes_of(type) * (kind == Kind::ReduceScatter ? static_cast<size_t>(ranks) : 1);
}

size_t Collective::receive_bytes(int rank, int ranks) const {
  if (kind == Kind::Reduce && rank != root) return 0;
  return count * bytes_of(type) * (kind == Kind::AllGather ? static_cast<size_t>(ranks) : 1);
}

std::string Collective::name() const {
  if (kind == Kind::Exchange) return "ncclSend and ncclRecv of a group";
  const char* const names[] = {"AllReduce", "Reduce", "Broadcast", "ReduceScatter", "AllGather"};
  std::string text = std::string("nccl") + names[static_cast<int>(kind)] + " of " + std::to_string(count) +
                     " elements of type " + std::to_string(type);
  if (kind == Kind::Reduce || kind == Kind::Broadcast) text += " with root " + std::to_string(root);
  if (kind != Kind::Broadcast && kind != Kind::AllGather) text += " by operation " + std::to_string(reduction);
  return text;
}

Bytes received_by(int rank, const Collective& what, const std::vector<Bytes>& sent) {
  Bytes result;
  switch (what.kind) {
    case Collective::Kind::Broadcast:
      return sent[static_cast<size_t>(what.root)];
    case Collective::Kind::AllGather:
      for (const Bytes& one : sent) result.insert(result.end(), one.begin(), one.end());
      return result;
    case Collective::Kind::AllReduce:
    case Collective::Kind::Reduce:
    case Collective::Kind::ReduceScatter:
    case Collective::Kind::Exchange:
      break;
  }
  result.resize(what.count * bytes_of(what.type));
  const bool scatter = what.kind == Collective::Kind::ReduceScatter;
  reduce(what, sent, scatter ? static_cast<size_t>(rank) * what.count : 0, result.data());
  return result;
}

}  // namespace weft::cuda_device
