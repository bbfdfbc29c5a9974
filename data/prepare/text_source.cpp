#include "data/prepare/text_source.h"

#include <algorithm>

#include "base/error.h"
#include "data/prepare/file_names.h"
#include "data/prepare/json_fields.h"
#include "data/prepare/text_source_readers.h"

namespace weft {

namespace {

BadRecordError nul_error(const std::string& where) {
  return {BadRecord::Nul, where + ": a NUL byte: this is not text", "convert UTF-16 or UTF-32 to UTF-8 first"};
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos; }

class WholeFiles : public FileSequence {
 public:
  using FileSequence::FileSequence;

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    record.source.clear();
    record.line = input.line() + 1;
    input.read_rest(record.source);
    return !record.source.empty();
  }
};

class Lines : public FileSequence {
 public:
  using FileSequence::FileSequence;

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    std::string_view line;
    while (input.next_line(line)) {
      strip_return(line);
      if (line.empty()) continue;
      record.source = line;
      record.line = input.line();
      return true;
    }
    return false;
  }
};

class Paragraphs : public FileSequence {
 public:
  using FileSequence::FileSequence;

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    record.source.clear();
    std::string_view line;
    while (input.next_line(line)) {
      if (is_blank(line)) {
        if (!record.source.empty()) break;
        continue;
      }
      if (record.source.empty()) {
        record.line = input.line();
      } else {
        record.source += '\n';
      }
      record.source += line;
    }
    if (record.source.ends_with('\r')) record.source.pop_back();
    return !record.source.empty();
  }
};

// Whole files are held and cut: a separator may contain or cross line ends.
class Separated : public FileSequence {
 public:
  Separated(std::vector<TextFile> files, std::string separator, const ReadRules& rules)
      : FileSequence(std::move(files), rules), separator_(std::move(separator)) {}

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    if (!loaded_) {
      text_.clear();
      input.read_rest(text_);
      at_ = 0, line_ = input.line() + 1, loaded_ = true;
    }
    while (at_ < text_.size()) {
      const size_t end = std::min(text_.find(separator_, at_), text_.size());
      const size_t begin = std::exchange(at_, std::min(end + separator_.size(), text_.size()));
      record.source.assign(text_, begin, end - begin);
      record.line = line_;
      line_ +=
          std::count(text_.begin() + static_cast<ptrdiff_t>(begin), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
      if (!record.source.empty()) return true;
    }
    loaded_ = false;
    return false;
  }

 private:
  std::string separator_;
  std::string text_;
  size_t at_ = 0;
  int64_t line_ = 1;
  bool loaded_ = false;
};

// Documents of one field, or with a second one prompts and answers.
class JsonLines : public FileSequence {
 public:
  JsonLines(std::vector<TextFile> files, const ReadRules& rules, std::string field, std::string answer = {})
      : FileSequence(std::move(files), rules), field_(std::move(field)), answer_(std::move(answer)) {}

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    const JsonField fields[] = {{field_, &record.source}, {answer_, &record.target}};
    std::string_view line;
    while (input.next_line(line)) {
      if (is_blank(line)) continue;
      const std::string where = fmt::format("{}:{}", input.path().string(), input.line());
      if (line.find('\0') != std::string_view::npos) throw nul_error(where);
      read_json_fields(line, where, std::span(fields).first(answer_.empty() ? 1 : 2));
      record.line = input.line();
      record.on_one_line = true;
      if (!record.source.empty() || !answer_.empty()) return true;
    }
    return false;
  }

 private:
  std::string field_, answer_;
};

std::vector<TextFile> resolve(const std::vector<std::string>& names) {
  std::vector<TextFile> files;
  for (const std::string& name : names) {
    for (fs::path& path : files_named(name)) files.emplace_back(std::move(path));
  }
  return files;
}

}  // namespace

void refuse_nul(const TextRecord& record) {
  for (const bool target : {false, true}) {
    const size_t nul = (target ? record.target : record.source).find('\0');
    if (nul != std::string::npos) throw nul_error(place_of(record, target, nul));
  }
}

bool FileSequence::next(TextRecord& record) {
  while (true) {
    if (!input_ && !advance()) return false;
    try {
      if (read(*input_, record)) {
        record.file = record.target_file = shared_path_;
        refuse_nul(record);
        return true;
      }
    } catch (const BadRecordError& error) {
      rules_.bad.meet(error);
      continue;
    }
    finished_ += files_[index_ - 1].size();
    input_.reset();
  }
}

bool FileSequence::advance() {
  if (index_ == files_.size()) return false;
  shared_path_ = std::make_shared<const fs::path>(files_[index_].name());
  rules_.open(input_, files_[index_++]);
  return true;
}

TextFiles resolve_files(const SplitFiles& files, TextFormat format) {
  if (format != TextFormat::Parallel) return {.source = resolve(files.files), .target = {}};
  TextFiles resolved{.source = resolve(files.source), .target = resolve(files.target)};
  require<ConfigError>(resolved.source.size() == resolved.target.size(),
                       "data: {} source files, but {} target files: they are read in pairs", resolved.source.size(),
                       resolved.target.size());
  return resolved;
}

std::unique_ptr<TextSource> open_text_source(const DataConfig& config, const TextFiles& files, BadRecords& bad) {
  const ReadRules rules{.skip_lines = config.skip_lines, .bad = bad};
  switch (config.format) {
    case TextFormat::Jsonl:
      return std::make_unique<JsonLines>(files.source, rules, config.json_field);
    case TextFormat::PromptAnswer:
      return std::make_unique<JsonLines>(files.source, rules, config.prompt_field, config.answer_field);
    case TextFormat::Tsv:
      return read_columns(files.source, config.source_column, config.target_column, rules);
    case TextFormat::Parallel:
      return read_parallel(files, rules);
    case TextFormat::Text:
      break;
  }
  switch (config.document_delimiter) {
    case DocumentDelimiter::File:
      return std::make_unique<WholeFiles>(files.source, rules);
    case DocumentDelimiter::Line:
      return std::make_unique<Lines>(files.source, rules);
    case DocumentDelimiter::BlankLine:
      return std::make_unique<Paragraphs>(files.source, rules);
    case DocumentDelimiter::Separator:
      return std::make_unique<Separated>(files.source, config.separator, rules);
  }
  throw InternalError("no such document rule");
}

uint64_t total_bytes(const TextFiles& files) {
  uint64_t bytes = 0;
  for (const auto* side : {&files.source, &files.target}) {
    for (const TextFile& file : *side) bytes += file.size();
  }
  return bytes;
}

std::string place_of(const TextRecord& record, bool target, size_t offset) {
  const std::string& text = target ? record.target : record.source;
  const auto end = text.begin() + static_cast<ptrdiff_t>(std::min(offset, text.size()));
  return fmt::format("{}:{}", (target ? record.target_file : record.file)->string(),
                     record.line + (record.on_one_line ? 0 : std::count(text.begin(), end, '\n')));
}

}  // namespace weft
