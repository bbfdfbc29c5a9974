// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/results.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace weft::cuda_device {
namespace {

constexpr size_t kAligned = 256;  // programs' own allocators begin blocks at multiples of this

std::string command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::ranges::replace_if(
      text, [](char c) { return c == '\0' || c == '\t' || c == '\n'; }, ' ');
  return text;
}

}  // namespace

void Results::add(const std::string& operation, const Memory& memory) {
  if (file_.empty()) return;
  Sum& sum = sums_[operation];
  ++sum.operations;
  memory.for_each_written([&](size_t offset, std::span<const std::byte> bytes) {
    sum.bytes += bytes.size();
    while (!bytes.empty()) {
      const size_t within = offset % kAligned;
      const auto piece = bytes.first(std::min(bytes.size(), kAligned - within));
      sum.hash += XXH3_64bits_withSeed(piece.data(), piece.size(), within);
      bytes = bytes.subspan(piece.size());
      offset += piece.size();
    }
  });
}

void Results::discard() {
  file_.clear();
  sums_.clear();
}

void Results::write() const {
  if (sums_.empty()) return;
  const std::string command = command_line();
  std::string text;
  for (const auto& [operation, sum] : sums_) {
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(sum.hash));
    text += command + '\t' + operation + '\t' + std::to_string(sum.operations) + '\t' + std::to_string(sum.bytes) +
            '\t' + hash + '\n';
  }
  const int file = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    std::fprintf(stderr, "simulated CUDA device: the results cannot be written to %s\n", file_.c_str());
  close(file);
}

}  // namespace weft::cuda_device
