// SPDX-License-Identifier: Apache-2.0
#include "generate/line_translation.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "data/prepare/specials.h"
#include "generate/one_line.h"
#include "generate/shared_translation.h"
#include "parallel/agree.h"

namespace weft {
namespace {

constexpr int64_t kNamedLongLines = 10;  // further ones are only counted

// Lines may be any bytes, which JSON cannot hold.
std::string packed(const LineBatch& batch) {
  const auto bytes =
      nlohmann::json::to_msgpack({{"first", batch.first}, {"lines", batch.lines}, {"prefixes", batch.prefixes}});
  return {bytes.begin(), bytes.end()};
}

LineBatch unpacked(const std::string& bytes) {
  const auto json = nlohmann::json::from_msgpack(bytes);
  return {.first = json.at("first"), .lines = json.at("lines"), .prefixes = json.at("prefixes")};
}

class LineEncoder {
 public:
  LineEncoder(const TextGenerator& generator, LongLines long_lines) : generator_(generator), long_lines_(long_lines) {}

  // Every rank encodes all lines of a batch, so that all ranks throw the same error for a bad line.
  Sentences encode(const LineBatch& batch) {
    Sentences sentences{.first = batch.first};
    for (size_t i = 0; i < batch.lines.size(); ++i) {
      const int64_t number = batch.first + static_cast<int64_t>(i) + 1;
      try {
        sentences.sources.push_back(source(batch.lines[i], number));
        if (!batch.prefixes.empty()) sentences.prefixes.push_back(prefix(batch.prefixes[i]));
      } catch (const DataError& error) {
        throw DataError(fmt::format("line {}: {}", number, error.what()), error.hint());
      }
    }
    return sentences;
  }
  int64_t too_long() const { return too_long_; }

 private:
  std::vector<int32_t> source(const std::string& line, int64_t number) {
    if (is_blank(line)) return {};
    const Tokenizer& tokenizer = generator_.source_tokenizer;
    std::vector<int32_t> tokens = encode_source(line, tokenizer, generator_.job.data);
    const size_t length = tokens.size();
    if (cut_source(tokens, generator_.job.model.max_length, tokenizer.special(SpecialRole::Eos))) {
      note_long(length, number);
      if (long_lines_ == LongLines::Empty) tokens.clear();
    }
    return tokens;
  }

  void note_long(size_t length, int64_t number) {
    const std::string what = fmt::format("it has {} tokens, the model's longest is {}", length, longest());
    if (long_lines_ == LongLines::Stop) throw DataError(what, "cut it into sentences, or use --long-lines truncate");
    if (++too_long_ > kNamedLongLines || generator_.model.parameters().mesh().world().rank() != 0) return;
    log_warning("line {}: {}: {}{}", number, what,
                long_lines_ == LongLines::Truncate ? "translated up to there" : "its translation is left empty",
                too_long_ == kNamedLongLines ? "; further lines like this are only counted" : "");
  }

  std::vector<int32_t> prefix(const std::string& text) const {
    std::vector<int32_t> tokens = generator_.target_tokenizer.encode(text);
    if (std::ssize(tokens) + 1 > longest()) {
      throw DataError(fmt::format("its prefix has {} tokens, and the model {} positions, one of them for the beginning",
                                  tokens.size(), longest()),
                      "shorten the prefix");
    }
    return tokens;
  }

  int64_t longest() const { return generator_.job.model.max_length; }

  const TextGenerator& generator_;
  LongLines long_lines_;
  int64_t too_long_ = 0;
};

}  // namespace

TranslatedLines translate_lines(const TextGenerator& generator, const SearchConfig& search, LongLines long_lines,
                                const LineReader& read, const LineWriter& write) {
  Communicator& world = generator.model.parameters().mesh().world();
  LineEncoder encoder(generator, long_lines);
  TranslatedLines done;
  LineBatch batch;
  std::vector<NBest> found;
  // Rank 0 writes a batch and reads the next one; one broadcast carries the lines that it read, or its error.
  const auto write_and_read = [&] {
    if (!batch.lines.empty()) write(batch, found);
    return packed(read());
  };
  while (!(batch = unpacked(agree(world, write_and_read))).lines.empty()) {
    found = translate_on_ranks(generator, encoder.encode(batch), search);
    done.lines += std::ssize(batch.lines);
  }
  done.too_long = encoder.too_long();
  return done;
}

}  // namespace weft
