// SPDX-License-Identifier: Apache-2.0
#include "data/text/text_input.h"

#include <algorithm>

#include "base/error.h"
#include "data/text/byte_stream.h"

namespace weft {

namespace {

constexpr size_t kReadAtOnce = 256 * 1024;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

struct TextInput::Stream {
  explicit Stream(File file) : bytes(std::move(file)) {}
  FileBytes bytes;
  std::unique_ptr<Decoder> decoder;
  bool at_end = false;
};

namespace {

File opened(const TextFile& file) {
  require<DataError>(!fs::is_directory(file.name()), "{} is a directory, not a text file", file.name().string());
  return {file.place(), File::Mode::Read};
}

}  // namespace

TextInput::TextInput(const TextFile& file, int64_t most_line_bytes)
    : TextInput(file.name(), opened(file), most_line_bytes) {}

TextInput TextInput::standard_input() { return {"standard input", standard_input_file(), kMaxLineBytes}; }

TextInput::TextInput(fs::path name, File file, int64_t most_line_bytes)
    : path_(std::move(name)), most_line_bytes_(static_cast<size_t>(most_line_bytes)), buffer_(kReadAtOnce) {
  stream_ = std::make_unique<Stream>(std::move(file));
  try {
    stream_->decoder = make_decoder(stream_->bytes, path_);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", path_.string(), error.what()), error.hint());
  }
  while (pending_.size() < kByteOrderMark.size() && kByteOrderMark.starts_with(pending_) && fill_more()) continue;
  if (pending_.starts_with(kByteOrderMark)) pending_.remove_prefix(kByteOrderMark.size());
}

TextInput::~TextInput() = default;
TextInput::TextInput(TextInput&&) noexcept = default;

bool TextInput::fill() {
  newlines_ += std::count(buffer_.data(), buffer_.data() + filled_, '\n');
  filled_ = 0;
  return fill_more();
}

// A decoder may return few bytes at a time, so the byte order mark may come in pieces.
bool TextInput::fill_more() {
  if (stream_->at_end) return false;
  size_t n = 0;
  try {
    n = stream_->decoder->read(stream_->bytes, buffer_.data() + filled_, buffer_.size() - filled_);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {} after line {}", path_.string(), error.what(), newlines_), error.hint());
  }
  filled_ += n;
  pending_ = {buffer_.data(), filled_};
  stream_->at_end = n == 0;
  return n > 0;
}

bool TextInput::next_line(std::string_view& line) {
  carried_.clear();
  bool any = false;
  while (!pending_.empty() || fill()) {
    any = true;
    const size_t end = pending_.find('\n');
    if (end == std::string_view::npos) {
      carried_ += pending_;
      if (carried_.size() > most_line_bytes_) throw too_long(path_, line_ + 1, static_cast<int64_t>(most_line_bytes_));
      pending_.remove_prefix(pending_.size());
      continue;
    }
    if (carried_.empty()) {
      line = pending_.substr(0, end);
    } else {
      carried_ += pending_.substr(0, end);
      line = carried_;
    }
    pending_.remove_prefix(end + 1);
    ++line_;
    return true;
  }
  if (!any) return false;
  line = carried_;
  ++line_;
  return true;
}

bool TextInput::read_some(std::string& into) {
  if (pending_.empty() && !fill()) return false;
  into += std::exchange(pending_, {});
  return true;
}

void TextInput::read_rest(std::string& into) {
  while (read_some(into)) continue;
}

uint64_t TextInput::consumed() const { return stream_->bytes.taken(); }

DataError too_long(const fs::path& path, int64_t line, int64_t most_bytes) {
  return DataError(fmt::format("{}:{}: a record of more than {} bytes", path.string(), line, most_bytes),
                   "is it text with line ends, and data.document_delimiter right? If so, raise data.max_record_bytes");
}

uint64_t TextInput::checksum() const { return stream_->bytes.checksum(); }

}  // namespace weft
