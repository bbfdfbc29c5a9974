// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/folder_contents.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "checkpoint/locate.h"
#include "checkpoint/manifest.h"
#include "data/dataset/manifest.h"

namespace weft {
namespace {

constexpr int kDeepest = 2;  // levels below the first one

struct Found {
  std::string path, text;
};

std::string bytes_text(const fs::path& directory) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    const uintmax_t size = at->is_regular_file(ignored) ? at->file_size(ignored) : 0;
    bytes += ignored ? 0 : size;
  }
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string describe_found_dataset(const fs::path& path) {
  const Manifest manifest = read_manifest(path);
  const char* record = has_two_sides(manifest.kind) ? "pair" : "document";
  std::string text = "dataset: ";
  for (const auto& [split, entry] : manifest.splits) {
    const int64_t tokens = entry.source.tokens + entry.target.tokens;
    text += fmt::format("{} {} ({} tokens), ", enum_name(split), counted(entry.records, record),
                        format_count(static_cast<double>(tokens)));
  }
  return text + bytes_text(path);
}

std::string describe_run(const fs::path& path) {
  const std::vector<fs::path> checkpoints = checkpoints_at(path);
  if (checkpoints.empty()) return "run: no checkpoint, " + bytes_text(path);
  return fmt::format("run: step {}, {}, {}", read_checkpoint_manifest(checkpoints.back()).step,
                     counted(std::ssize(checkpoints), "checkpoint"), bytes_text(path));
}

// Empty if the path is none of these.
std::string describe_one(const fs::path& path) {
  try {
    if (is_prepared(path)) return describe_found_dataset(path);
    if (is_run_directory(path)) return describe_run(path);
    if (!has_manifest(path)) return {};
    return fmt::format("checkpoint: step {}, {}", read_checkpoint_manifest(path).step, bytes_text(path));
  } catch (const DataError& error) {
    return fmt::format("cannot be read: {}", error.what());
  }
}

std::vector<Found> contents_of(const fs::path& folder) {
  std::vector<Found> found;
  const auto skip_unreadable = fs::directory_options::skip_permission_denied;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, skip_unreadable, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored)) continue;
    const bool hidden = at->path().filename().string().starts_with('.');
    const std::string text = hidden ? "" : describe_one(at->path());
    if (hidden || !text.empty() || at.depth() == kDeepest) at.disable_recursion_pending();
    if (!text.empty()) found.push_back({at->path().lexically_relative(folder).string(), text});
  }
  std::ranges::sort(found, {}, &Found::path);
  return found;
}

}  // namespace

std::string describe_contents(const fs::path& folder) {
  const std::vector<Found> found = contents_of(folder);
  size_t width = 0;
  for (const Found& one : found) width = std::max(width, one.path.size());
  std::string text;
  for (const Found& one : found) text += fmt::format("{:<{}}  {}\n", one.path, width, one.text);
  return text;
}

}  // namespace weft
