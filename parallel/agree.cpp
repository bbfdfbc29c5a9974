// SPDX-License-Identifier: Apache-2.0
#include "parallel/agree.h"

#include <algorithm>
#include <filesystem>
#include <new>

#include "base/error.h"

namespace weft {
namespace {

// How rank 0's work ended, as it is sent to the other ranks: the kinds of errors that somebody tells apart.
enum class Kind : char {
  Done = 'd',
  Config = 'c',
  Data = 'f',
  Io = 'o',
  Access = 'a',
  Divergence = 'n',
  Memory = 'm',
  Peer = 'p',
  Busy = 'b',
  NoProgress = 'r',
  Other = 'i'
};

Kind kind_of(const std::exception& error) {
  if (dynamic_cast<const ConfigError*>(&error)) return Kind::Config;
  if (dynamic_cast<const IoError*>(&error)) return Kind::Io;
  if (dynamic_cast<const AccessError*>(&error)) return Kind::Access;
  if (dynamic_cast<const DataError*>(&error)) return Kind::Data;
  if (const auto* failed = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    return is_momentary(failed->code().value()) ? Kind::Io : Kind::Data;
  }
  if (dynamic_cast<const DivergenceError*>(&error)) return Kind::Divergence;
  if (dynamic_cast<const MemoryError*>(&error) || dynamic_cast<const std::bad_alloc*>(&error)) return Kind::Memory;
  if (dynamic_cast<const PeerError*>(&error)) return Kind::Peer;
  if (dynamic_cast<const BusyError*>(&error)) return Kind::Busy;
  if (dynamic_cast<const NoProgressError*>(&error)) return Kind::NoProgress;
  return Kind::Other;
}

[[noreturn]] void throw_as(Kind kind, const std::string& text, const std::string& hint) {
  switch (kind) {
    case Kind::Config:
      throw ConfigError(text, hint);
    case Kind::Data:
      throw DataError(text, hint);
    case Kind::Io:
      throw IoError(text, hint);
    case Kind::Access:
      throw AccessError(text, hint);
    case Kind::Divergence:
      throw DivergenceError(text, hint);
    case Kind::Memory:
      throw MemoryError(text, hint);
    case Kind::Peer:
      throw PeerError(text, hint);
    case Kind::Busy:
      throw BusyError(text, hint);
    case Kind::NoProgress:
      throw NoProgressError(text, hint);
    case Kind::Done:
    case Kind::Other:
      break;
  }
  throw InternalError(text, hint);
}

// An error as it is sent: its kind, its text and, after a zero, its hint.
std::string packed(const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  return static_cast<char>(kind_of(error)) +
         (ours ? error.what() + std::string(1, '\0') + ours->hint() : describe(error));
}

[[noreturn]] void throw_packed(const std::string& text) {
  const size_t end = std::min(text.find('\0'), text.size());
  throw_as(static_cast<Kind>(text.at(0)), text.substr(1, end - 1), end < text.size() ? text.substr(end + 1) : "");
}

}  // namespace

std::string agree(Communicator& world, const std::function<std::string()>& rank0_work) {
  std::string text(1, static_cast<char>(Kind::Done));
  if (world.rank() == 0) {
    try {
      text += rank0_work();
    } catch (const std::exception& error) {
      text = packed(error);
    }
  }
  text = world.broadcast_text(text, 0);
  if (static_cast<Kind>(text.at(0)) != Kind::Done) throw_packed(text);
  return text.substr(1);
}

void agree_each(Communicator& world, const std::function<void()>& work) {
  std::string failure;
  try {
    work();
  } catch (const std::exception& error) {
    failure = packed(error);
  }
  failure = first_text(world, failure);
  if (!failure.empty()) throw_packed(failure);
}

std::string first_text(Communicator& world, const std::string& mine) {
  const double last =
      world.all_reduce_host(mine.empty() ? 0 : static_cast<double>(world.size() - world.rank()), ReduceOp::Max);
  if (last == 0) return "";
  return world.broadcast_text(mine, world.size() - static_cast<int>(last));
}

std::vector<std::string> gather_texts(Communicator& axis, const std::string& mine) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < axis.size(); ++rank) texts.push_back(axis.broadcast_text(mine, rank));
  return texts;
}

std::vector<std::string> gather_on_rank0(Communicator& axis, const std::string& mine) {
  const double length = static_cast<double>(mine.size());
  const double longest = axis.all_reduce_host(length, ReduceOp::Max);
  // The hosts' plane moves doubles, as they are: a text is packed into as many as the longest needs, behind its length.
  const size_t doubles = 1 + (static_cast<size_t>(longest) + sizeof(double) - 1) / sizeof(double);
  std::vector<double> packed(doubles);
  packed[0] = length;
  std::ranges::copy(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(packed).subspan(1)).begin());
  const std::vector<double> all = axis.gather_host(packed);
  std::vector<std::string> texts;
  for (size_t begin = 0; begin < all.size(); begin += doubles) {
    texts.emplace_back(reinterpret_cast<const char*>(&all[begin + 1]), static_cast<size_t>(all[begin]));
  }
  return texts;
}

}  // namespace weft
