#include "data/prepare/text_source_input.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace weft {

namespace {

constexpr size_t kBufferBytes = 256 * 1024;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct CloseGz {
  void operator()(gzFile_s* file) const { gzclose_r(file); }
};

}  // namespace

struct TextInput::Stream {
  std::unique_ptr<gzFile_s, CloseGz> gz;
  bool at_end = false;
};

TextInput::TextInput(const fs::path& path) : path_(path), stream_(std::make_unique<Stream>()), buffer_(kBufferBytes) {
  require<DataError>(!fs::is_directory(path), "{} is a directory, not a text file", path.string());
  const File file(path, File::Mode::Read);
  const int copy = ::dup(file.descriptor());
  if (copy < 0) throw_errno("dup", path);
  stream_->gz.reset(gzdopen(copy, "rb"));
  if (!stream_->gz) {
    ::close(copy);
    throw DataError(path.string() + ": zlib cannot read it");
  }
  gzbuffer(stream_->gz.get(), kBufferBytes);
  const bool plain = gzdirect(stream_->gz.get()) != 0;
  require<DataError>(!plain || path.extension() != ".gz", "{} is not a gzip file, though its name says so",
                     path.string());
  fill();
  if (pending_.starts_with(kByteOrderMark)) pending_.remove_prefix(kByteOrderMark.size());
}

TextInput::~TextInput() = default;
TextInput::TextInput(TextInput&&) noexcept = default;

bool TextInput::fill() {
  if (stream_->at_end) return false;
  newlines_ += std::count(buffer_.data(), buffer_.data() + filled_, '\n');
  const int n = gzread(stream_->gz.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  const char* reason = gzerror(stream_->gz.get(), &code);
  if (n < 0 || code == Z_BUF_ERROR) {
    const bool cut = code == Z_BUF_ERROR;
    throw DataError(
        fmt::format("{}: {} after line {}", path_.string(),
                    cut ? std::string("the gzip file is truncated")
                        : fmt::format("cannot be read: {}", code == Z_ERRNO ? std::strerror(errno) : reason),
                    newlines_));
  }
  filled_ = static_cast<size_t>(n);
  pending_ = {buffer_.data(), filled_};
  stream_->at_end = n == 0;
  refuse_nul(pending_);
  return n > 0;
}

void TextInput::refuse_nul(std::string_view chunk) {
  const size_t nul = chunk.find('\0');
  if (nul == std::string_view::npos) return;
  const int64_t line = newlines_ + std::count(chunk.begin(), chunk.begin() + static_cast<ptrdiff_t>(nul), '\n') + 1;
  throw DataError(fmt::format("{}:{}: a NUL byte: this is not a text file", path_.string(), line),
                  "convert UTF-16 or UTF-32 to UTF-8 first");
}

bool TextInput::next_line(std::string_view& line) {
  carried_.clear();
  bool any = false;
  while (!pending_.empty() || fill()) {
    any = true;
    const size_t end = pending_.find('\n');
    if (end == std::string_view::npos) {
      carried_ += pending_;
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

void TextInput::read_rest(std::string& into) {
  do into += pending_;
  while (fill());
  pending_ = {};
}

uint64_t TextInput::consumed() const {
  const auto offset = gzoffset(stream_->gz.get());
  return offset < 0 ? 0 : static_cast<uint64_t>(offset);
}

}  // namespace weft
