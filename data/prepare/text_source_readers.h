#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "data/prepare/text_source.h"
#include "data/prepare/text_source_input.h"

namespace weft {

inline void strip_return(std::string_view& line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
}

// Walks one list of files; readers whose records come from one file each build on it.
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

// Two columns of tab-separated lines.
std::unique_ptr<TextSource> read_columns(std::vector<fs::path> files, int64_t source, int64_t target);
// Line by line from two files at a time.
std::unique_ptr<TextSource> read_parallel(TextFiles files);

}  // namespace weft
