// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "data/prepare/inputs.h"
#include "data/prepare/journal.h"
#include "data/prepare/output.h"
#include "data/prepare/prepare.h"
#include "data/prepare/records/split.h"
#include "data/prepare/resolved_text.h"

namespace weft {

inline constexpr size_t kBatchBytes = size_t{256} * 1024;  // encoded by one thread at a time
inline constexpr size_t kPieceBytes = size_t{1} << 20;     // of a long document

// Text to a dataset's files, which lie under names ending in .tmp until they are committed. A journal is kept beside
// them; where one of the same text and settings lies there already, the work goes on from it.
class Preparation {
 public:
  Preparation(ResolvedText text, const PrepareOptions& options);

  std::vector<PrepareInput> inputs() const;
  Corpus& corpus() { return corpus_; }
  // `identity` is that of text and settings: only a journal of the same is gone on from.
  Manifest write(OutputDirectory& directory, uint64_t identity);
  int64_t resumed() const { return resumed_; }  // records, or pieces of long ones, that an earlier run had encoded
  const std::vector<uint64_t>& shares() const { return shares_; }  // bytes of text that each rank encoded
  void release() { writer_->release(); }

 private:
  void read_ahead();
  Tokenizers stage_tokenizers(OutputDirectory& directory);
  std::optional<Tokenizers> staged_tokenizers(const fs::path& directory) const;
  Manifest describe_sides(const Tokenizers& tokenizers) const;
  void open_writer(const OutputDirectory& directory, const Manifest& manifest);
  void tokenise(const Tokenizers& tokenizers, const fs::path& directory);
  void save_beside(const fs::path& directory, std::future<void>& saving);
  Journal journal_so_far();
  const DataConfig& data() const { return text_.job.data; }
  bool own_target() const { return text_.job.has_own_target(); }
  const char* source_file() const { return own_target() ? "source-tokenizer.json" : "tokenizer.json"; }
  static const char* target_file() { return "target-tokenizer.json"; }

  const ResolvedText text_;
  const PrepareOptions& options_;
  Corpus corpus_;
  std::optional<Journal> found_;  // what an earlier run left
  Journal journal_;               // of this one; its writer comes in when it is written
  int64_t resumed_ = 0;
  std::vector<uint64_t> shares_;
  std::unique_ptr<DatasetWriter> writer_;
};

}  // namespace weft
