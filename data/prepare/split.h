#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "data/prepare/config.h"
#include "data/prepare/text_source.h"

namespace weft {

enum class DataSplit { Train, Valid, Test };
inline constexpr std::array kSplits = {DataSplit::Train, DataSplit::Valid, DataSplit::Test};
std::string_view split_name(DataSplit split);

// What splitting by position needs to know of the whole text first.
struct CorpusSize {
  int64_t records = 0;
  int64_t characters = 0;  // code points
};

// The split of a record under rule hash: a function of seed and index alone.
DataSplit hashed_split(int64_t seed, int64_t index, double valid_fraction, double test_fraction);

// Where validation and test begin when `total` records or characters are cut by position: with one tenth that
// validates, validation begins at floor(total * 0.9).
std::pair<int64_t, int64_t> position_cuts(int64_t total, double valid_fraction, double test_fraction);

// Number of characters: bytes that do not continue a UTF-8 sequence. And the byte where the n-th begins.
int64_t count_characters(std::string_view text);
size_t byte_of_character(std::string_view text, int64_t n);

// All text of a configuration, each record with its split, in an order that depends on the text alone.
class Corpus {
 public:
  explicit Corpus(const DataConfig& config);

  bool has(DataSplit split) const;  // may hold records
  bool needs_size() const;          // split by position: size() must come first
  // Reads everything once; `tick` is called now and then.
  void measure(const std::function<void(const Corpus&)>& tick);

  void rewind();
  // A record that the rule cuts comes as several. False at the end.
  bool next(DataSplit& split, TextRecord& record);
  uint64_t consumed() const;  // of total_bytes(), since rewind()
  uint64_t total_bytes() const { return total_bytes_; }
  const std::vector<fs::path>& paths() const { return paths_; }  // of every file, in order of reading

 private:
  DataSplit split_at(int64_t position) const;
  bool next_unsplit(DataSplit& split, TextRecord& record);
  void cut(TextRecord&& record);

  const DataConfig config_;
  std::array<TextFiles, 3> files_;
  std::vector<fs::path> paths_;
  uint64_t total_bytes_ = 0;
  CorpusSize size_;
  bool measured_ = false;

  std::unique_ptr<TextSource> source_;
  size_t reading_ = 0;  // index into files_ of source_
  uint64_t finished_ = 0;
  int64_t position_ = 0;                                 // records or characters passed
  std::deque<std::pair<DataSplit, TextRecord>> pieces_;  // of a record that was cut
};

}  // namespace weft
