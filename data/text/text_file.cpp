// SPDX-License-Identifier: Apache-2.0
#include "data/text/text_file.h"

#include "base/error.h"
#include "base/files/new_file.h"
#include "data/text/byte_stream.h"

namespace weft {

fs::path TextFile::place() const {
  return copy_ ? fs::path(fmt::format("/proc/self/fd/{}", copy_->descriptor())) : name_;
}

bool TextFile::is_pipe() const { return !fs::is_regular_file(name_); }

uint64_t TextFile::size() const {
  if (copy_) return copy_->size();
  return is_pipe() ? 0 : fs::file_size(name_);
}

void TextFile::copy_pipe(const fs::path& directory) {
  fs::path existing = fs::absolute(directory);
  while (!fs::is_directory(existing)) existing = existing.parent_path();
  auto copy = std::make_shared<File>(unnamed_file(existing));
  try {
    FileBytes bytes{File(name_, File::Mode::Read)};
    for (std::string_view some; !(some = bytes.available()).empty(); bytes.take(some.size())) copy->append(some);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: copying this pipe: {}", name_.string(), error.what()),
                    "preparation reads its input more than once: make room, or write the text to a file first");
  }
  copy_ = std::move(copy);
}

}  // namespace weft
