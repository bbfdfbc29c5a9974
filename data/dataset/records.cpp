// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/dataset/inspect.h"
#include "data/dataset/turns.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {
namespace {

// A sequence as text on one line, quoted and with its specials, and as ids; cut after `most` tokens (0: never).
std::string show_sequence(const char* side, const Tokenizer& tokenizer, std::span<const int32_t> ids, int64_t most) {
  const size_t shown = most > 0 ? std::min(ids.size(), static_cast<size_t>(most)) : ids.size();
  const std::span<const int32_t> part = ids.first(shown);
  const nlohmann::json text = tokenizer.decode(part, {.show_specials = true});
  const std::string rest = shown < ids.size() ? fmt::format(" ... {} more", ids.size() - shown) : "";
  return fmt::format("  {:<8} {}{}\n  {:<8} {}{}\n", side,
                     text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), rest, "ids",
                     fmt::join(part, " "), rest);
}

class RecordPrinter {
 public:
  RecordPrinter(const Dataset& dataset, int64_t most)
      : dataset_(dataset),
        source_(dataset.load_source_tokenizer()),
        target_(dataset.load_target_tokenizer()),
        most_(most) {}

  int64_t records() const { return is_stream() ? dataset_.header().num_documents : dataset_.num_pairs(); }
  const char* name() const { return is_stream() ? "document" : "pair"; }
  std::string show(int64_t record) const { return is_stream() ? show_document(record) : show_pair(record); }

 private:
  bool is_stream() const { return dataset_.header().kind == DatasetKind::Stream; }

  std::string show_document(int64_t document) const {
    const int64_t begin = dataset_.document_begin(document);
    const bool is_last = document + 1 == records();
    std::vector<int32_t> ids(
        static_cast<size_t>((is_last ? dataset_.num_tokens() : dataset_.document_begin(document + 1)) - begin));
    dataset_.read_tokens(begin, ids);
    return show_sequence("text", *source_, ids, most_);
  }
  std::string show_pair(int64_t pair) const {
    std::vector<int32_t> source(static_cast<size_t>(dataset_.source_length(pair)));
    std::vector<int32_t> target(static_cast<size_t>(dataset_.target_length(pair)));
    dataset_.read_source(pair, source), dataset_.read_target(pair, target);
    if (dataset_.header().kind == DatasetKind::Chats) return show_turns(pair, source, target);
    return show_sequence("source", *source_, source, most_) + show_sequence("target", *target_, target, most_);
  }

  std::string show_turns(int64_t conversation, std::span<const int32_t> context,
                         std::span<const int32_t> learnt) const {
    std::string text;
    for_each_turn(dataset_.read_turns(conversation), [&](bool is_learnt, size_t, size_t count) {
      std::span<const int32_t>& from = is_learnt ? learnt : context;
      text += show_sequence(is_learnt ? "learnt" : "context", *source_, from.first(count), most_);
      from = from.subspan(count);
    });
    return text;
  }

  const Dataset& dataset_;
  std::shared_ptr<const Tokenizer> source_, target_;
  int64_t most_;
};

}  // namespace

std::string show_records(const fs::path& directory, const ShownRecords& shown) {
  std::string text;
  for (const DataSplit split : Dataset::splits(directory)) {
    const std::string_view name = enum_name(split);
    const Dataset dataset = Dataset::open(directory, split, ShardShare::none());
    const RecordPrinter printer(dataset, shown.tokens);
    const int64_t records = printer.records();
    const int64_t end = shown.count < records - shown.from ? shown.from + shown.count : records;
    if (shown.from >= records)
      text += fmt::format("{}: {} {}s, none from {} on\n", name, records, printer.name(), shown.from);
    for (int64_t record = shown.from; record < end; ++record) {
      text += fmt::format("{} {} {} of {}\n{}", name, printer.name(), record, records, printer.show(record));
    }
  }
  return text;
}

}  // namespace weft
