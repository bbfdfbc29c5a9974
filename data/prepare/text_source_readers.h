#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "data/prepare/bad_records.h"
#include "data/prepare/text_source.h"
#include "data/prepare/text_source_input.h"

namespace weft {

inline void strip_return(std::string_view& line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
}

// Throws a BadRecordError if a side holds a NUL byte: then it is no text, or UTF-16.
void refuse_nul(const TextRecord& record);

// How files are read, whatever their format.
struct ReadRules {
  int64_t skip_lines = 0;  // at the beginning of each file
  BadRecords& bad;

  void open(std::optional<TextInput>& input, const TextFile& file) const {
    input.emplace(file);
    std::string_view line;
    for (int64_t i = 0; i < skip_lines && input->next_line(line); ++i) continue;
  }
};

// Walks one list of files; readers whose records come from one file each build on it.
class FileSequence : public TextSource {
 public:
  FileSequence(std::vector<TextFile> files, const ReadRules& rules) : files_(std::move(files)), rules_(rules) {}

  bool next(TextRecord& record) override;
  uint64_t consumed() const override { return finished_ + (input_ ? input_->consumed() : 0); }

 protected:
  // False at the end of the file. BadRecordError where there is something, but no record; then goes on behind it.
  virtual bool read(TextInput& input, TextRecord& record) = 0;

 private:
  bool advance();

  std::vector<TextFile> files_;
  ReadRules rules_;
  size_t index_ = 0;
  std::optional<TextInput> input_;
  std::shared_ptr<const fs::path> shared_path_;
  uint64_t finished_ = 0;
};

// Two columns of tab-separated lines.
std::unique_ptr<TextSource> read_columns(std::vector<TextFile> files, int64_t source, int64_t target,
                                         const ReadRules& rules);
// Line by line from two files at a time.
std::unique_ptr<TextSource> read_parallel(TextFiles files, const ReadRules& rules);

}  // namespace weft
