// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/block_parser.h"

#include <algorithm>

#include "base/error.h"
#include "data/text/json_fields.h"
#include "data/text/text_lines.h"

namespace weft {

// What is a record in one format.
class BlockParser::Rule {
 public:
  virtual ~Rule() = default;
  // The next record of the text (parallel: and its partner); false at the end. BadRecordError, without the place, where
  // there is something, but no record; then goes on behind it.
  virtual bool read(TextLines& text, TextLines& partner, TextRecord& record) const = 0;
};

namespace {

class WholeFiles : public BlockParser::Rule {
 public:
  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    record.source = text.rest();
    record.line = text.line();
    return !record.source.empty();
  }
};

class Lines : public BlockParser::Rule {
 public:
  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    std::string_view line;
    while (text.next(line)) {
      strip_return(line);
      if (line.empty()) continue;
      record.source = line;
      record.line = text.line();
      return true;
    }
    return false;
  }
};

class Paragraphs : public BlockParser::Rule {
 public:
  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    std::string_view line;
    while (text.next(line)) {
      if (is_blank(line)) {
        if (!record.source.empty()) break;
        continue;
      }
      if (record.source.empty()) {
        record.line = text.line();
      } else {
        record.source += '\n';
      }
      record.source += line;
    }
    if (record.source.ends_with('\r')) record.source.pop_back();
    return !record.source.empty();
  }
};

class Separated : public BlockParser::Rule {
 public:
  explicit Separated(std::string separator) : separator_(std::move(separator)) {}
  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    std::string_view document;
    while (text.next(document, separator_)) {
      if (document.empty()) continue;
      record.source = document;
      record.line = text.line();
      return true;
    }
    return false;
  }

 private:
  std::string separator_;
};

BadRecordError nul_error() {
  return {BadRecord::Nul, "a NUL byte: this is not text", "convert UTF-16 or UTF-32 to UTF-8 first"};
}

// Documents of one field, or with a second one prompts and answers.
class JsonLines : public BlockParser::Rule {
 public:
  explicit JsonLines(const DataConfig& config)
      : has_answer_(config.format == TextFormat::PromptAnswer),
        key_(has_answer_ ? "data.prompt_field" : "data.json_field"),
        field_(has_answer_ ? config.prompt_field : config.json_field),
        answer_(config.answer_field) {}

  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    const JsonField fields[] = {{key_, field_, &record.source}, {"data.answer_field", answer_, &record.target}};
    std::string_view line;
    while (text.next(line)) {
      record.line = text.line();
      record.on_one_line = true;
      if (is_blank(line)) continue;
      if (line.find('\0') != std::string_view::npos) throw nul_error();
      read_json_fields(line, std::span(fields).first(has_answer_ ? 2 : 1));
      if (!record.source.empty() || has_answer_) return true;
    }
    return false;
  }

 private:
  bool has_answer_;
  const char* key_;
  std::string field_, answer_;
};

// Two columns of tab-separated lines.
class Columns : public BlockParser::Rule {
 public:
  Columns(int64_t source, int64_t target) : source_(source), target_(target) {}

  bool read(TextLines& text, TextLines&, TextRecord& record) const override {
    std::string_view line;
    if (!text.next(line)) return false;
    strip_return(line);
    record.line = text.line();
    if (line.empty()) return true;  // a pair without text
    const int64_t needed = std::max(source_, target_);
    int64_t column = 0;
    for (size_t begin = 0; column < needed && begin <= line.size();) {
      const size_t end = std::min(line.find('\t', begin), line.size());
      ++column;
      if (column == source_) record.source = line.substr(begin, end - begin);
      if (column == target_) record.target = line.substr(begin, end - begin);
      begin = end + 1;
    }
    if (column < needed) {
      throw BadRecordError(
          BadRecord::TooFewColumns,
          fmt::format("{} tab-separated column{}, but column {} is asked for", column, column == 1 ? "" : "s", needed),
          "between columns stand tabs, not commas; data.source_column and data.target_column choose among them");
    }
    return true;
  }

 private:
  int64_t source_, target_;
};

class ParallelLines : public BlockParser::Rule {
 public:
  bool read(TextLines& text, TextLines& partner, TextRecord& record) const override {
    std::string_view source, target;
    if (!text.next(source) || !partner.next(target)) return false;
    strip_return(source), strip_return(target);
    record.source = source, record.target = target;
    record.line = text.line();
    return true;
  }
};

std::unique_ptr<const BlockParser::Rule> rule_of(const DataConfig& config) {
  switch (config.format) {
    case TextFormat::Jsonl:
    case TextFormat::PromptAnswer:
      return std::make_unique<JsonLines>(config);
    case TextFormat::Tsv:
      return std::make_unique<Columns>(config.source_column, config.target_column);
    case TextFormat::Parallel:
      return std::make_unique<ParallelLines>();
    case TextFormat::Text:
      break;
  }
  switch (config.document_delimiter) {
    case DocumentDelimiter::File:
      return std::make_unique<WholeFiles>();
    case DocumentDelimiter::Line:
      return std::make_unique<Lines>();
    case DocumentDelimiter::BlankLine:
      return std::make_unique<Paragraphs>();
    case DocumentDelimiter::Separator:
      return std::make_unique<Separated>(config.separator);
  }
  throw InternalError("no such document rule");
}

BadRecordError placed(const BadRecordError& error, const std::string& place) {
  return {error.reason(), fmt::format("{}: {}", place, error.what()), error.hint()};
}

void refuse_nul(const TextRecord& record) {
  for (const bool target : {false, true}) {
    const size_t nul = (target ? record.target : record.source).find('\0');
    if (nul != std::string::npos) throw placed(nul_error(), place_of(record, target, nul));
  }
}

}  // namespace

BlockParser::BlockParser(const DataConfig& config)
    : rule_(rule_of(config)), skip_bad_(config.bad_records == BadRecordPolicy::Skip) {}

BlockParser::~BlockParser() = default;

ParsedBlock BlockParser::parse(const TextBlock& block) const {
  ParsedBlock parsed{.records = {}, .bad = BadRecords(skip_bad_), .consumed = block.consumed};
  TextLines text(block.text, block.lines_before), partner(block.target, block.lines_before);
  const auto next = [&](TextRecord& record) {
    try {
      return rule_->read(text, partner, record);
    } catch (const BadRecordError& error) {
      throw placed(error, fmt::format("{}:{}", block.file->string(), text.line()));
    }
  };
  while (true) {
    TextRecord record{.file = block.file, .target_file = block.target_file};
    try {
      if (!next(record)) return parsed;
      refuse_nul(record);
      parsed.records.push_back(std::move(record));
    } catch (const BadRecordError& error) {
      parsed.bad.meet(error);
    }
  }
}

std::string place_of(const TextRecord& record, bool target, size_t offset) {
  const std::string& text = target ? record.target : record.source;
  const auto end = text.begin() + static_cast<ptrdiff_t>(std::min(offset, text.size()));
  return fmt::format("{}:{}", (target ? record.target_file : record.file)->string(),
                     record.line + (record.on_one_line ? 0 : std::count(text.begin(), end, '\n')));
}

}  // namespace weft
