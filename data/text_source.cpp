#include "data/text_source.h"

#include <glob.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "data/text_source_input.h"

namespace weft {

namespace {

void strip_return(std::string_view& line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos; }

// Walks one list of files; readers of one file a record build on it.
class FileSequence : public TextSource {
 public:
  explicit FileSequence(std::vector<fs::path> files) : files_(std::move(files)) {}

  bool next(TextRecord& record) override {
    while (true) {
      if (!input_ && !advance()) return false;
      if (read(*input_, record)) {
        record.file = record.target_file = shared_path_;
        return true;
      }
      finished_ += fs::file_size(input_->path());
      input_.reset();
    }
  }
  uint64_t consumed() const override { return finished_ + (input_ ? input_->consumed() : 0); }

 protected:
  virtual bool read(TextInput& input, TextRecord& record) = 0;  // false at the end of the file

 private:
  bool advance() {
    if (index_ == files_.size()) return false;
    shared_path_ = std::make_shared<const fs::path>(files_[index_]);
    input_.emplace(files_[index_++]);
    return true;
  }

  std::vector<fs::path> files_;
  size_t index_ = 0;
  std::optional<TextInput> input_;
  std::shared_ptr<const fs::path> shared_path_;
  uint64_t finished_ = 0;
};

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

class JsonLines : public FileSequence {
 public:
  JsonLines(std::vector<fs::path> files, std::string field)
      : FileSequence(std::move(files)), field_(std::move(field)) {}

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    std::string_view line;
    while (input.next_line(line)) {
      if (is_blank(line)) continue;
      record.source = text_of(input, line);
      record.line = input.line();
      if (!record.source.empty()) return true;
    }
    return false;
  }

 private:
  std::string text_of(const TextInput& input, std::string_view line) const {
    const std::string where = fmt::format("{}:{}", input.path().string(), input.line());
    nlohmann::json object;
    try {
      object = nlohmann::json::parse(line);
    } catch (const nlohmann::json::exception& error) {
      throw DataError(fmt::format("{}: not a line of JSON: {}", where, error.what()));
    }
    require<DataError>(object.is_object(), "{}: the line is JSON, but no object", where);
    const auto field = object.find(field_);
    require<DataError>(field != object.end(), "{}: the object has no field \"{}\"", where, field_);
    require<DataError>(field->is_string(), "{}: field \"{}\" is no string", where, field_);
    std::string text = field->get<std::string>();
    require<DataError>(text.find('\0') == std::string::npos, "{}: field \"{}\" holds a NUL: this is not text", where,
                       field_);
    return text;
  }

  std::string field_;
};

class Columns : public FileSequence {
 public:
  Columns(std::vector<fs::path> files, int64_t source, int64_t target)
      : FileSequence(std::move(files)), source_(source), target_(target) {}

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    std::string_view line;
    if (!input.next_line(line)) return false;
    strip_return(line);
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
      throw DataError(fmt::format("{}:{}: {} tab-separated column{}, but column {} is asked for", input.path().string(),
                                  input.line(), column, column == 1 ? "" : "s", needed));
    }
    record.line = input.line();
    return true;
  }

 private:
  int64_t source_, target_;
};

class ParallelFiles : public TextSource {
 public:
  explicit ParallelFiles(TextFiles files) : files_(std::move(files)) {}

  bool next(TextRecord& record) override {
    std::string_view source, target;
    while (true) {
      if (!source_ && !advance()) return false;
      const bool has_source = source_->next_line(source);
      const bool has_target = target_->next_line(target);
      if (has_source != has_target) refuse_unequal();
      if (has_source) break;
      finished_ += fs::file_size(source_->path()) + fs::file_size(target_->path());
      source_.reset(), target_.reset();
    }
    strip_return(source), strip_return(target);
    record.source = source, record.target = target;
    record.file = source_path_, record.target_file = target_path_;
    record.line = source_->line();
    return true;
  }
  uint64_t consumed() const override {
    return finished_ + (source_ ? source_->consumed() : 0) + (target_ ? target_->consumed() : 0);
  }

 private:
  bool advance() {
    if (index_ == files_.source.size()) return false;
    source_path_ = std::make_shared<const fs::path>(files_.source[index_]);
    target_path_ = std::make_shared<const fs::path>(files_.target[index_]);
    source_.emplace(files_.source[index_]);
    target_.emplace(files_.target[index_++]);
    return true;
  }
  [[noreturn]] void refuse_unequal() {
    std::string_view line;
    while (source_->next_line(line)) continue;
    while (target_->next_line(line)) continue;
    throw DataError(fmt::format("{} has {} lines, but {} has {}: parallel files need as many", source_->path().string(),
                                source_->line(), target_->path().string(), target_->line()));
  }

  TextFiles files_;
  size_t index_ = 0;
  std::optional<TextInput> source_, target_;
  std::shared_ptr<const fs::path> source_path_, target_path_;
  uint64_t finished_ = 0;
};

std::vector<fs::path> resolve(const std::vector<std::string>& names) {
  std::vector<fs::path> paths;
  for (const std::string& name : names) {
    if (fs::exists(name) || name.find_first_of("*?[") == std::string::npos) {
      require<DataError>(fs::exists(name), "{}: no such file", name);
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
    case TextFormat::Tsv:
      return std::make_unique<Columns>(files.source, config.source_column, config.target_column);
    case TextFormat::Parallel:
      return std::make_unique<ParallelFiles>(files);
    case TextFormat::Text:
      break;
  }
  switch (config.documents) {
    case DocumentRule::File:
      return std::make_unique<WholeFiles>(files.source);
    case DocumentRule::Line:
      return std::make_unique<Lines>(files.source);
    case DocumentRule::BlankLine:
      return std::make_unique<Paragraphs>(files.source);
    case DocumentRule::Separator:
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
