// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include "base/error.h"
#include "data/text/byte_stream.h"

namespace weft {

namespace {

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

class Zstd : public Decoder {
 public:
  Zstd() : stream_(ZSTD_createDStream()) { require<DataError>(stream_ != nullptr, "no memory for zstd"); }

  size_t read(FileBytes& from, char* into, size_t most) override {
    ZSTD_outBuffer out{into, most, 0};
    while (out.pos == 0) {
      const std::string_view bytes = from.available();
      if (between_frames_ && bytes.empty()) return 0;
      ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
      const size_t code = ZSTD_decompressStream(stream_.get(), &out, &in);
      from.take(in.pos);
      require<DataError>(!ZSTD_isError(code), "cannot be read: the zstd file is damaged: {}", ZSTD_getErrorName(code));
      between_frames_ = code == 0;
      require<DataError>(!bytes.empty() || out.pos > 0 || between_frames_, "the zstd file is truncated");
    }
    return out.pos;
  }

 private:
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_;
  bool between_frames_ = false;
};

}  // namespace

bool has_zstd() { return true; }

std::unique_ptr<Decoder> make_zstd_decoder() { return std::make_unique<Zstd>(); }

}  // namespace weft
