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
#include "data/tokenizer/file_names.h"

namespace weft {

inline constexpr size_t kBatchBytes = size_t{256} * 1024;  // text that one thread encodes at a time
inline constexpr size_t kPieceBytes = size_t{1} << 20;     // a longer document is encoded in pieces of this size

// Turns text into a dataset's files, which have names ending in .tmp until they are committed. A journal is kept beside
// the files; if a journal of the same text and settings exists already, the work resumes from it.
class Preparation {
 public:
  Preparation(ResolvedText text, const PrepareOptions& options);

  std::vector<PrepareInput> inputs() const;
  Corpus& corpus() { return corpus_; }
  // Resumes only from a journal of this `identity`, that of text and settings.
  Manifest write(OutputDirectory& directory, uint64_t identity);
  int64_t resumed() const { return resumed_; }  // records, or pieces of long ones, that an earlier run encoded
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
  const char* source_file() const { return own_target() ? kSourceTokenizerFile : kTokenizerFile; }
  static const char* target_file() { return kTargetTokenizerFile; }

  const ResolvedText text_;
  const PrepareOptions& options_;
  Corpus corpus_;
  std::optional<Journal> found_;  // left by an earlier run
  Journal journal_;               // the journal of this run; journal_so_far() adds the writer's state
  int64_t resumed_ = 0;
  std::vector<uint64_t> shares_;
  std::unique_ptr<DatasetWriter> writer_;
};

}  // namespace weft
