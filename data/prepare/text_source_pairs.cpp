#include <algorithm>

#include "base/error.h"
#include "data/prepare/text_source_readers.h"

namespace weft {

namespace {

class Columns : public FileSequence {
 public:
  Columns(std::vector<TextFile> files, int64_t source, int64_t target, const ReadRules& rules)
      : FileSequence(std::move(files), rules), source_(source), target_(target) {}

 protected:
  bool read(TextInput& input, TextRecord& record) override {
    std::string_view line;
    if (!input.next_line(line)) return false;
    strip_return(line);
    record.line = input.line();
    if (line.empty()) {  // a pair without text
      record.source.clear(), record.target.clear();
      return true;
    }
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
      throw BadRecordError(BadRecord::TooFewColumns,
                           fmt::format("{}:{}: {} tab-separated column{}, but column {} is asked for",
                                       input.path().string(), input.line(), column, column == 1 ? "" : "s", needed));
    }
    return true;
  }

 private:
  int64_t source_, target_;
};

class ParallelFiles : public TextSource {
 public:
  ParallelFiles(TextFiles files, const ReadRules& rules) : files_(std::move(files)), rules_(rules) {}

  bool next(TextRecord& record) override {
    while (read(record)) {
      try {
        refuse_nul(record);
        return true;
      } catch (const BadRecordError& error) {
        rules_.bad.meet(error);
      }
    }
    return false;
  }
  uint64_t consumed() const override {
    return finished_ + (source_ ? source_->consumed() : 0) + (target_ ? target_->consumed() : 0);
  }

 private:
  bool read(TextRecord& record) {
    std::string_view source, target;
    while (true) {
      if (!source_ && !advance()) return false;
      const bool has_source = source_->next_line(source);
      const bool has_target = target_->next_line(target);
      if (has_source != has_target) refuse_unequal();
      if (has_source) break;
      finished_ += files_.source[index_ - 1].size() + files_.target[index_ - 1].size();
      source_.reset(), target_.reset();
    }
    strip_return(source), strip_return(target);
    record.source = source, record.target = target;
    record.file = source_path_, record.target_file = target_path_;
    record.line = source_->line();
    return true;
  }
  bool advance() {
    if (index_ == files_.source.size()) return false;
    source_path_ = std::make_shared<const fs::path>(files_.source[index_].name());
    target_path_ = std::make_shared<const fs::path>(files_.target[index_].name());
    rules_.open(source_, files_.source[index_]);
    rules_.open(target_, files_.target[index_++]);
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
  ReadRules rules_;
  size_t index_ = 0;
  std::optional<TextInput> source_, target_;
  std::shared_ptr<const fs::path> source_path_, target_path_;
  uint64_t finished_ = 0;
};

}  // namespace

std::unique_ptr<TextSource> read_columns(std::vector<TextFile> files, int64_t source, int64_t target,
                                         const ReadRules& rules) {
  return std::make_unique<Columns>(std::move(files), source, target, rules);
}

std::unique_ptr<TextSource> read_parallel(TextFiles files, const ReadRules& rules) {
  return std::make_unique<ParallelFiles>(std::move(files), rules);
}

}  // namespace weft
