// SPDX-License-Identifier: Apache-2.0
#include "data/text/byte_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace weft {

namespace {

constexpr size_t kLongestMagic = 10;  // bytes, of bzip2
constexpr size_t kBufferBytes = 256 * 1024;

using namespace std::string_view_literals;
constexpr auto kGzip = "\x1F\x8B"sv;
constexpr auto kZstd = "\x28\xB5\x2F\xFD"sv;
constexpr auto kSkippableEnd = "\x2A\x4D\x18"sv;  // follows a byte 50 to 5F: a frame of zstd without text
constexpr auto kXz = "\xFD\x37zXZ\0"sv;
constexpr auto kBzip2 = "BZh"sv;
constexpr auto kBzip2End = "1AY&SY"sv;  // follows kBzip2 and a digit
constexpr auto kLz4 = "\x04\x22\x4D\x18"sv;
constexpr auto kZip = "PK\x03\x04"sv;
constexpr auto kParquet = "PAR1\x15"sv;  // the first field of the page or the footer that follows PAR1 is of type 0x15

// docs/adding_a_dataset.md shows it too.
constexpr auto kParquetToJsonLines =
    R"(python3 -c 'import json, sys, pyarrow.parquet as p; [print(json.dumps({"messages": t})) for b in )"
    R"(p.ParquetFile(sys.argv[1]).iter_batches(columns=["messages"]) for t in b[0].to_pylist()]' )"
    "FILE.parquet | gzip >FILE.jsonl.gz"sv;

// True if the shorter one of the two is the beginning of the other.
bool may_be(std::string_view begin, std::string_view magic) {
  const size_t known = std::min(begin.size(), magic.size());
  return begin.substr(0, known) == magic.substr(0, known);
}

// The fewest first bytes that show how a file is compressed: on a terminal, waiting for more bytes would block.
std::string_view telling_bytes(FileBytes& from) {
  size_t wanted = 1;
  const auto undecided = [](std::string_view begin) {
    const bool skippable = (begin[0] & 0xF0) == 0x50 && may_be(begin.substr(1), kSkippableEnd);
    const bool bzip2 = may_be(begin, kBzip2) && may_be(begin.substr(std::min<size_t>(4, begin.size())), kBzip2End);
    return skippable || bzip2 || may_be(begin, kGzip) || may_be(begin, kZstd) || may_be(begin, kXz) ||
           may_be(begin, kLz4) || may_be(begin, kZip) || may_be(begin, kParquet);
  };
  std::string_view begin;
  do begin = from.at_least(wanted).substr(0, kLongestMagic);
  while (begin.size() >= wanted && ++wanted <= kLongestMagic && undecided(begin));
  return begin;
}

bool is_zstd(std::string_view begin) {
  const bool skippable = begin.size() >= 4 && (begin[0] & 0xF0) == 0x50 && begin.substr(1, 3) == kSkippableEnd;
  return begin.starts_with(kZstd) || skippable;
}

// The name of a compression that is not read here; empty for anything else.
std::string_view foreign_compression(std::string_view begin) {
  if (begin.starts_with(kXz)) return "xz";
  if (begin.size() == kLongestMagic && begin.starts_with(kBzip2) && begin.ends_with(kBzip2End)) return "bzip2";
  if (begin.starts_with(kLz4)) return "lz4";
  if (begin.starts_with(kZip)) return "zip";
  return {};
}

class Plain : public Decoder {
 public:
  size_t read(FileBytes& from, char* into, size_t most) override {
    const std::string_view bytes = from.available().substr(0, most);
    std::memcpy(into, bytes.data(), bytes.size());
    from.take(bytes.size());
    return bytes.size();
  }
};

}  // namespace

FileBytes::FileBytes(File file) : file_(std::move(file)), buffer_(kBufferBytes) {}

File standard_input_file() {
  File file("/dev/null", File::Mode::Read);
  require<DataError>(::dup3(STDIN_FILENO, file.descriptor(), O_CLOEXEC) >= 0, "standard input cannot be read: {}",
                     std::strerror(errno));
  return file;
}

bool FileBytes::read_more() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_, begin_ = 0;
  }
  ssize_t n = 0;
  do n = ::read(file_.descriptor(), buffer_.data() + end_, buffer_.size() - end_);
  while (n < 0 && errno == EINTR);
  if (n < 0) throw DataError(fmt::format("cannot be read: {}", std::strerror(errno)));
  hasher_.update(buffer_.data() + end_, static_cast<size_t>(n));
  end_ += static_cast<size_t>(n), read_ += static_cast<uint64_t>(n);
  return n > 0;
}

std::string_view FileBytes::available() { return at_least(1); }

std::string_view FileBytes::at_least(size_t bytes) {
  while (end_ - begin_ < bytes && read_more()) continue;
  return {buffer_.data() + begin_, end_ - begin_};
}

std::unique_ptr<Decoder> make_decoder(FileBytes& from, const fs::path& path) {
  const std::string_view begin = telling_bytes(from);
  if (begin.starts_with(kParquet)) {
    throw DataError(
        "a Parquet file, not text",
        fmt::format(
            "weft prepare reads columns of text with data.format: parquet or parquet_prompt_answer; write others, "
            "such as lists of messages, as JSON lines:\n    {}",
            kParquetToJsonLines));
  }
  if (const std::string_view other = foreign_compression(begin); !other.empty()) {
    throw DataError(fmt::format("compressed with {}, which weft does not read", other),
                    "decompress it first, or compress it with gzip or zstd");
  }
  if (begin.starts_with(kGzip)) return make_gzip_decoder();
  if (is_zstd(begin)) return make_zstd_decoder();
  require<DataError>(path.extension() != ".gz", "not a gzip file, though its name says so");
  require<DataError>(path.extension() != ".zst", "not a zstd file, though its name says so");
  return std::make_unique<Plain>();
}

}  // namespace weft
