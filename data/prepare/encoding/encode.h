// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/encoder.h"
#include "data/dataset/manifest.h"
#include "data/prepare/config.h"
#include "data/prepare/records/record_reader.h"
#include "data/prepare/records/split.h"
#include "data/prepare/specials.h"
#include "data/text/bad_records.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

using TextBatch = std::vector<std::pair<DataSplit, TextRecord>>;
uint64_t text_bytes(const TextBatch& batch);

// Sequences of a batch, one after another.
struct EncodedBatch {
  struct Record {
    DataSplit split;
    // Ends in `ids` of the record's source (or document), which begins where the last record ends, and of its target.
    size_t source_end;
    size_t target_end;
    bool begins = true, ends = true;  // as in TextRecord, for a document in pieces
    bool truncated = false;
    bool invalid_utf8 = false;
    size_t source_bytes, target_bytes;  // bytes of text
    std::string reference;              // held-out translations: the target's text, unchanged; conversations: turns

    template <class Archive>
    void archive(Archive& a) {
      a(split), a(source_end), a(target_end), a(begins), a(ends), a(truncated), a(invalid_utf8);
      a(source_bytes), a(target_bytes), a(reference);
    }
  };
  std::vector<int32_t> ids;
  std::vector<Record> records;
  BySplit<int64_t> dropped_empty{}, dropped_long{};
  BadRecords bad;

  template <class Archive>
  void archive(Archive& a) {
    a(ids), a(records), a(dropped_empty), a(dropped_long), a(bad);
  }
};

// BadRecordError with file and line if the document or source (or the target) is not valid UTF-8 but `tokenizer_kind`
// (chars, words) requires it.
void check_text(const TextRecord& record, bool target, std::string_view tokenizer_kind);

// Cuts a long document into pieces that can be encoded separately. A record that is short, or whose tokenizer finds no
// safe place to cut, stays whole.
std::vector<TextRecord> in_pieces(TextRecord record, const Tokenizer& tokenizer, size_t piece_bytes);

// Encodes text as sequences of ids, with the specials that the configuration requires. Thread-safe.
class SequenceEncoder {
 public:
  // ConfigError if a tokenizer lacks a special that sequences need.
  SequenceEncoder(const DataConfig& config, TokenizerPtr source, TokenizerPtr target);
  EncodedBatch encode(const TextBatch& batch) const;

 private:
  struct Side {
    TokenizerPtr tokenizer;
    int64_t longest;  // most ids of a sequence; 0: no limit
    SideSpecials specials = {};
  };
  enum class Fit { Whole, Truncated, Empty, Long };
  Fit encode_side(const Side& side, const TextRecord& record, bool target, OverlongPairs overlong,
                  std::vector<int32_t>& ids) const;
  bool is_bad(const TextRecord& record, EncodedBatch& batch) const;
  void encode_document(const TextRecord& record, DataSplit split, EncodedBatch& batch) const;
  void encode_pair(const TextRecord& record, DataSplit split, EncodedBatch& batch) const;
  void encode_chat(const TextRecord& record, DataSplit split, EncodedBatch& batch) const;

  bool pairs_, translation_;
  bool skip_bad_;
  OverlongPairs overlong_pairs_, heldout_overlong_pairs_;
  EmptyPairs heldout_empty_pairs_;
  Side source_, target_;
  std::optional<ChatEncoder> chat_;
};

// Counts of the ids of one side of one split.
class TokenStats {
 public:
  TokenStats(int64_t vocabulary, std::optional<int32_t> unk) : counts_(static_cast<size_t>(vocabulary)), unk_(unk) {}
  void add(std::span<const int32_t> sequence, int specials, size_t text_bytes);
  SideCounts counts(const Tokenizer& tokenizer, bool pairs) const;

  // DataError if the state is of another vocabulary.
  template <class Archive>
  void archive(Archive& a) {
    const size_t vocabulary = counts_.size();
    a(counts_);
    require<DataError>(counts_.size() == vocabulary, "counts of {} tokens and not of {}", counts_.size(), vocabulary);
    a(tokens_), a(longest_), a(specials_), a(text_bytes_);
  }

 private:
  std::vector<int64_t> counts_;
  std::optional<int32_t> unk_;
  int64_t tokens_ = 0, longest_ = 0, specials_ = 0, text_bytes_ = 0;
};

}  // namespace weft
