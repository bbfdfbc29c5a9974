// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include "base/error.h"
#include "data/text/byte_stream.h"

namespace weft {

namespace {

constexpr int kGzipOnly = 15 + 16;  // windowBits of inflateInit2: the largest window, and no format but gzip

// Any bytes after a member must be another member: zlib's own gzread() takes the rest of the file for padding if a
// member's first bytes are damaged.
class Gzip : public Decoder {
 public:
  Gzip() { require<DataError>(inflateInit2(&stream_, kGzipOnly) == Z_OK, "no memory for zlib"); }
  ~Gzip() override { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  size_t read(FileBytes& from, char* into, size_t most) override {
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(most);
    while (stream_.avail_out == most) {
      const std::string_view bytes = from.available();
      if (between_members_ && bytes.empty()) return 0;
      inflate_some(from, bytes);
    }
    return most - stream_.avail_out;
  }

 private:
  void inflate_some(FileBytes& from, std::string_view bytes) {
    if (between_members_) inflateReset(&stream_);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    const int code = inflate(&stream_, Z_NO_FLUSH);
    from.take(bytes.size() - stream_.avail_in);
    between_members_ = code == Z_STREAM_END;
    require<DataError>(code != Z_BUF_ERROR, "the gzip file is truncated");
    require<DataError>(code == Z_OK || code == Z_STREAM_END, "cannot be read: the gzip file is damaged: {}",
                       stream_.msg ? stream_.msg : zError(code));
  }

  z_stream stream_{};
  bool between_members_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_gzip_decoder() { return std::make_unique<Gzip>(); }

}  // namespace weft
