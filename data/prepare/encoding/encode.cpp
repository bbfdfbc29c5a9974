// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/encoding/encode.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/dataset/turns.h"
#include "data/text/unicode_properties.h"

namespace weft {

namespace {

// True if the text holds only white space of any script, such as U+00A0 and U+3000.
bool only_white(const std::string& text) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Utf8Char c = utf8_at(p, end);
    if (!c.valid() || (character_properties(c.code_point) & kSpace) == 0) return false;
    p += c.length;
  }
  return true;
}

void check_utf8(const TextRecord& record, bool target, std::string_view kind) {
  const std::string& text = target ? record.target : record.source;
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Utf8Char c = utf8_at(p, end);
    if (!c.valid()) {
      throw BadRecordError(
          BadRecord::NotUtf8,
          fmt::format("{}: byte 0x{:02x} is not valid UTF-8, and a tokenizer of kind {} takes nothing else",
                      place_of(record, target, static_cast<size_t>(p - text.data())), static_cast<unsigned char>(*p),
                      kind),
          "convert the text to UTF-8, or choose kind bpe or bytes, which keep any bytes");
    }
    p += c.length;
  }
}

void cut_off(EncodedChat& chat, size_t longest) {
  chat.ids.resize(longest);
  size_t end = 0;
  for (size_t turn = 0; turn < chat.turns.size(); ++turn) {
    const size_t begin = std::exchange(end, end + static_cast<size_t>(chat.turns[turn]));
    if (end < longest) continue;
    chat.turns[turn] = static_cast<int32_t>(longest - begin);
    chat.turns.resize(turn + 1);
  }
}

}  // namespace

uint64_t text_bytes(const TextBatch& batch) {
  uint64_t bytes = 0;
  for (const auto& [split, record] : batch) bytes += record.source.size() + record.target.size();
  return bytes;
}

void check_text(const TextRecord& record, bool target, std::string_view tokenizer_kind) {
  if (tokenizer_kind == "chars" || tokenizer_kind == "words") check_utf8(record, target, tokenizer_kind);
}

SequenceEncoder::SequenceEncoder(const DataConfig& config, TokenizerPtr source, TokenizerPtr target)
    : pairs_(config.is_pairs()),
      translation_(config.is_translation()),
      skip_bad_(config.bad_records == BadRecordPolicy::Skip),
      overlong_pairs_(config.overlong_pairs),
      heldout_overlong_pairs_(config.heldout_overlong_pairs),
      heldout_empty_pairs_(config.heldout_empty_pairs),
      source_{.tokenizer = std::move(source), .longest = config.max_source_tokens},
      target_{.tokenizer = std::move(target), .longest = config.max_target_tokens} {
  const RecordSpecials specials = specials_of(config, *source_.tokenizer, *target_.tokenizer);
  source_.specials = specials.source, target_.specials = specials.target;
  if (!pairs_) source_.longest = 0;
  if (config.kind() == DatasetKind::Chats) chat_.emplace(config.chat, source_.tokenizer);
}

// Appends the ids of the sequence; the caller removes them if the sequence does not fit.
SequenceEncoder::Fit SequenceEncoder::encode_side(const Side& side, const TextRecord& record, bool target,
                                                  OverlongPairs overlong, std::vector<int32_t>& ids) const {
  const size_t begin = ids.size();
  if (side.specials.bos && record.begins) ids.push_back(*side.specials.bos);
  const size_t text_begin = ids.size();
  try {
    side.tokenizer->encode_append(target ? record.target : record.source, ids);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", place_of(record, target, 0), error.what()), error.hint());
  }
  Fit fit = Fit::Empty;
  if (ids.size() > text_begin) {
    uint32_t largest = 0;  // compared as unsigned, so that a negative id is too large
    for (size_t i = text_begin; i < ids.size(); ++i) largest = std::max(largest, static_cast<uint32_t>(ids[i]));
    require<DataError>(largest < side.tokenizer->vocabulary(),
                       "{}: the tokenizer gave id {}, outside its vocabulary of {}", place_of(record, target, 0),
                       static_cast<int32_t>(largest), side.tokenizer->vocabulary());
    fit = Fit::Whole;
  }
  const size_t room = side.longest == 0 ? SIZE_MAX : static_cast<size_t>(side.longest) - (side.specials.eos ? 1 : 0);
  if (ids.size() - begin > room && overlong != OverlongPairs::Keep) {
    if (overlong == OverlongPairs::Drop) return Fit::Long;
    ids.resize(begin + room);
    fit = Fit::Truncated;
  }
  if (side.specials.eos && record.ends) ids.push_back(*side.specials.eos);
  return fit;
}

void SequenceEncoder::encode_pair(const TextRecord& record, DataSplit split, EncodedBatch& batch) const {
  const size_t begin = batch.ids.size();
  const auto s = static_cast<size_t>(split);
  const auto give_up = [&](BySplit<int64_t>& count) {
    ++count[s];
    batch.ids.resize(begin);
  };
  const bool heldout = split != DataSplit::Train;
  const bool keep_empty = heldout && heldout_empty_pairs_ == EmptyPairs::Keep;
  if (!keep_empty && (only_white(record.source) || only_white(record.target))) return give_up(batch.dropped_empty);
  const OverlongPairs overlong = heldout ? heldout_overlong_pairs_ : overlong_pairs_;
  const Fit source = encode_side(source_, record, false, overlong, batch.ids);
  const size_t source_end = batch.ids.size();
  const Fit target = encode_side(target_, record, true, overlong, batch.ids);
  if (!keep_empty && (source == Fit::Empty || target == Fit::Empty)) return give_up(batch.dropped_empty);
  if (source == Fit::Long || target == Fit::Long) return give_up(batch.dropped_long);
  batch.records.push_back({.split = split,
                           .source_end = source_end,
                           .target_end = batch.ids.size(),
                           .truncated = source == Fit::Truncated || target == Fit::Truncated,
                           .invalid_utf8 = !is_utf8(record.source) || !is_utf8(record.target),
                           .source_bytes = record.source.size(),
                           .target_bytes = record.target.size(),
                           .reference = heldout && translation_ ? record.target : std::string()});
}

// Puts what is context before what is learnt, and remembers the turns. A conversation of which nothing is learnt is
// dropped from every split: it has nothing to score either.
void SequenceEncoder::encode_chat(const TextRecord& record, DataSplit split, EncodedBatch& batch) const {
  EncodedChat chat;
  try {
    chat = chat_->encode(read_messages(record.source));
  } catch (const DataError& error) {
    return batch.bad.meet(
        {BadRecord::Malformed, fmt::format("{}: {}", place_of(record, false, 0), error.what()), error.hint()});
  }
  const auto longest = static_cast<size_t>(source_.longest);
  const OverlongPairs overlong = split == DataSplit::Train ? overlong_pairs_ : heldout_overlong_pairs_;
  const bool is_long = longest > 0 && chat.ids.size() > longest && overlong != OverlongPairs::Keep;
  if (is_long && overlong == OverlongPairs::Truncate) cut_off(chat, longest);
  const auto s = static_cast<size_t>(split);
  if (is_long && (overlong == OverlongPairs::Drop || chat.turns.size() < 2)) return void(++batch.dropped_long[s]);
  if (chat.turns.size() < 2) return void(++batch.dropped_empty[s]);
  size_t source_end = 0;
  for (const bool learnt : {false, true}) {
    for_each_turn(chat.turns, [&](bool is_learnt, size_t begin, size_t count) {
      const auto from = chat.ids.begin() + static_cast<ptrdiff_t>(begin);
      if (is_learnt == learnt) batch.ids.insert(batch.ids.end(), from, from + static_cast<ptrdiff_t>(count));
    });
    if (!learnt) source_end = batch.ids.size();
  }
  batch.records.push_back({.split = split,
                           .source_end = source_end,
                           .target_end = batch.ids.size(),
                           .truncated = is_long,
                           .source_bytes = chat.other_text,
                           .target_bytes = chat.learnt_text,
                           .reference = fmt::format("{}", fmt::join(chat.turns, " "))});
}

bool SequenceEncoder::is_bad(const TextRecord& record, EncodedBatch& batch) const {
  try {
    check_text(record, false, source_.tokenizer->kind());
    if (pairs_) check_text(record, true, target_.tokenizer->kind());
  } catch (const BadRecordError& error) {
    batch.bad.meet(error);
    return true;
  }
  return false;
}

void SequenceEncoder::encode_document(const TextRecord& record, DataSplit split, EncodedBatch& batch) const {
  const size_t begin = batch.ids.size();
  if (encode_side(source_, record, false, OverlongPairs::Keep, batch.ids) == Fit::Empty) return batch.ids.resize(begin);
  const size_t end = batch.ids.size();
  batch.records.push_back({.split = split,
                           .source_end = end,
                           .target_end = end,
                           .begins = record.begins,
                           .ends = record.ends,
                           .invalid_utf8 = !is_utf8(record.source),
                           .source_bytes = record.source.size(),
                           .target_bytes = 0,
                           .reference = {}});
}

EncodedBatch SequenceEncoder::encode(const TextBatch& input) const {
  EncodedBatch batch{.bad = BadRecords(skip_bad_)};
  batch.ids.reserve(text_bytes(input));  // few texts have more ids than bytes, and what is not reached costs no memory
  for (const auto& [split, record] : input) {
    if (is_bad(record, batch)) continue;
    if (chat_) {
      encode_chat(record, split, batch);
    } else {
      pairs_ ? encode_pair(record, split, batch) : encode_document(record, split, batch);
    }
  }
  return batch;
}

std::vector<TextRecord> in_pieces(TextRecord record, const Tokenizer& tokenizer, size_t piece_bytes) {
  std::vector<TextRecord> pieces;
  const std::string_view text = record.source;
  int64_t line = record.line;
  for (size_t begin = 0; begin < text.size();) {
    const size_t rest = text.size() - begin;
    const size_t bytes = rest <= piece_bytes ? rest : tokenizer.safe_split(text.substr(begin), piece_bytes);
    if (bytes == text.size()) break;
    const std::string_view piece = text.substr(begin, bytes);
    pieces.push_back({.source = std::string(piece),
                      .file = record.file,
                      .target_file = record.target_file,
                      .line = line,
                      .on_one_line = record.on_one_line,
                      .begins = record.begins && begin == 0,
                      .ends = record.ends && begin + bytes == text.size()});
    if (!record.on_one_line) line += std::count(piece.begin(), piece.end(), '\n');
    begin += bytes;
  }
  if (pieces.empty()) pieces.push_back(std::move(record));
  return pieces;
}

void TokenStats::add(std::span<const int32_t> sequence, int specials, size_t text_bytes) {
  text_bytes_ += static_cast<int64_t>(text_bytes);
  for (const int32_t id : sequence) ++counts_[static_cast<size_t>(id)];
  tokens_ += static_cast<int64_t>(sequence.size());
  longest_ = std::max(longest_, static_cast<int64_t>(sequence.size()));
  specials_ += specials;
}

SideCounts TokenStats::counts(const Tokenizer& tokenizer, bool pairs) const {
  SideCounts result{.tokens = tokens_,
                    .longest = pairs ? longest_ : 0,
                    .text_tokens = tokens_ - specials_,
                    .text_bytes = text_bytes_};
  if (unk_) result.unknown = counts_[static_cast<size_t>(*unk_)];
  double total = 0;
  const auto counted = [&](size_t id) {
    return counts_[id] > 0 && (!tokenizer.is_special(static_cast<int32_t>(id)) || unk_ == static_cast<int32_t>(id));
  };
  for (size_t id = 0; id < counts_.size(); ++id) {
    if (counted(id)) total += static_cast<double>(counts_[id]);
  }
  for (size_t id = 0; id < counts_.size(); ++id) {
    if (!counted(id)) continue;
    const double p = static_cast<double>(counts_[id]) / total;
    result.entropy -= p * std::log2(p);
  }
  return result;
}

}  // namespace weft
