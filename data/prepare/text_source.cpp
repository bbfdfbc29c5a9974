#include "data/prepare/text_source.h"

#include <glob.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/prepare/text_source_readers.h"

namespace weft {

namespace {

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos; }

class WholeFiles : public FileSequence {
 public:
  using FileSequence::FileSequence;

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    record.source.clear();
    input.read_rest(record.source);
    record.line = 1;
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
  Separated(std::vector<fs::path> files, std::string separator)
      : FileSequence(std::move(files)), separator_(std::move(separator)) {}

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    if (!loaded_) {
      text_.clear();
      input.read_rest(text_);
      at_ = 0, line_ = 1, loaded_ = true;
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

// A field of a line that holds one JSON object.
std::string json_text(const nlohmann::json& object, const std::string& name, const std::string& where) {
  const auto field = object.find(name);
  require<DataError>(field != object.end(), "{}: the object has no field \"{}\"", where, name);
  require<DataError>(field->is_string(), "{}: field \"{}\" is no string", where, name);
  std::string text = field->get<std::string>();
  require<DataError>(text.find('\0') == std::string::npos, "{}: field \"{}\" holds a NUL: this is not text", where,
                     name);
  return text;
}

nlohmann::json json_object(std::string_view line, const std::string& where) {
  nlohmann::json object;
  try {
    object = nlohmann::json::parse(line);
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("{}: not a line of JSON: {}", where, error.what()));
  }
  require<DataError>(object.is_object(), "{}: the line is JSON, but no object", where);
  return object;
}

// Documents of one field, or with a second one prompts and answers.
class JsonLines : public FileSequence {
 public:
  JsonLines(std::vector<fs::path> files, std::string field, std::string answer = {})
      : FileSequence(std::move(files)), field_(std::move(field)), answer_(std::move(answer)) {}

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    std::string_view line;
    while (input.next_line(line)) {
      if (is_blank(line)) continue;
      const std::string where = fmt::format("{}:{}", input.path().string(), input.line());
      const nlohmann::json object = json_object(line, where);
      record.source = json_text(object, field_, where);
      if (!answer_.empty()) record.target = json_text(object, answer_, where);
      record.line = input.line();
      if (!record.source.empty() || !answer_.empty()) return true;
    }
    return false;
  }

 private:
  std::string field_, answer_;
};

std::vector<fs::path> resolve(const std::vector<std::string>& names) {
  std::vector<fs::path> paths;
  for (const std::string& name : names) {
    if (fs::exists(name) || name.find_first_of("*?[") == std::string::npos) {
      require<DataError>(fs::exists(name), "{}: no such file", name);
      require<DataError>(!fs::is_directory(name), "{} is a directory, not a text file", name);
      paths.emplace_back(name);
      continue;
    }
    glob_t found{};
    const int code = ::glob(name.c_str(), GLOB_NOSORT, nullptr, &found);
    std::vector<fs::path> matches(found.gl_pathv, found.gl_pathv + (code == 0 ? found.gl_pathc : 0));
    ::globfree(&found);
    require<DataError>(!matches.empty(), "{}: no file matches", name);
    std::sort(matches.begin(), matches.end());
    paths.insert(paths.end(), matches.begin(), matches.end());
  }
  return paths;
}

}  // namespace

TextFiles resolve_files(const SplitFiles& files, TextFormat format) {
  if (format != TextFormat::Parallel) return {.source = resolve(files.files), .target = {}};
  TextFiles resolved{.source = resolve(files.source), .target = resolve(files.target)};
  require<ConfigError>(resolved.source.size() == resolved.target.size(),
                       "data: {} source files, but {} target files: they are read in pairs", resolved.source.size(),
                       resolved.target.size());
  return resolved;
}

std::unique_ptr<TextSource> open_text_source(const DataConfig& config, const TextFiles& files) {
  switch (config.format) {
    case TextFormat::Jsonl:
      return std::make_unique<JsonLines>(files.source, config.json_field);
    case TextFormat::PromptAnswer:
      return std::make_unique<JsonLines>(files.source, config.prompt_field, config.answer_field);
    case TextFormat::Tsv:
      return read_columns(files.source, config.source_column, config.target_column);
    case TextFormat::Parallel:
      return read_parallel(files);
    case TextFormat::Text:
      break;
  }
  switch (config.document_delimiter) {
    case DocumentDelimiter::File:
      return std::make_unique<WholeFiles>(files.source);
    case DocumentDelimiter::Line:
      return std::make_unique<Lines>(files.source);
    case DocumentDelimiter::BlankLine:
      return std::make_unique<Paragraphs>(files.source);
    case DocumentDelimiter::Separator:
      return std::make_unique<Separated>(files.source, config.separator);
  }
  throw InternalError("no such document rule");
}

uint64_t total_bytes(const TextFiles& files) {
  uint64_t bytes = 0;
  for (const auto* side : {&files.source, &files.target}) {
    for (const fs::path& path : *side) bytes += fs::file_size(path);
  }
  return bytes;
}

std::string place_of(const TextRecord& record, bool target, size_t offset) {
  const std::string& text = target ? record.target : record.source;
  const auto end = text.begin() + static_cast<ptrdiff_t>(std::min(offset, text.size()));
  return fmt::format("{}:{}", (target ? record.target_file : record.file)->string(),
                     record.line + std::count(text.begin(), end, '\n'));
}

}  // namespace weft
