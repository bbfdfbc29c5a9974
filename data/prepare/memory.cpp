// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/preparation.h"
#include "data/prepare/records/text_blocks.h"
#include "data/prepare/workers.h"

namespace weft {

namespace {

// Two decimals are enough for a bound.
std::string gib(double bytes) { return fmt::format("{:.2f} GiB", bytes / (1 << 30)); }

// Text that is read, parsed and encoded at the same time; ids have 4 bytes, and lists grow by doubling.
double text_under_way(int threads) {
  const double window = threads > 1 ? static_cast<double>(kPendingOfThread) * threads + 1 : 1;
  return window * (2.5 * kBlockBytes + (kBatchBytes + kPieceBytes) * (1 + 2 * 4.0));
}

// A shard is written while the next one fills, in a list that grows by doubling.
double shards(const DataConfig& data) {
  const bool by_file = data.split == SplitRule::Files;
  const int splits = 1 + int{by_file ? !data.valid.empty() : data.valid_fraction > 0} +
                     int{by_file ? !data.test.empty() : data.test_fraction > 0};
  return 3.0 * static_cast<double>(sizeof(int32_t)) * static_cast<double>(data.shard_tokens) * splits;
}

// A table of pretokens, and the copy of the table from which merges are learnt.
double learning(const TokenizerConfig& config) {
  if (config.is_loaded() || config.kind == TokenizerKind::Bytes) return 0;
  constexpr double kPretokenBytes = 200, kBatch = 32 << 20;
  return static_cast<double>(config.sample_bytes) + kBatch + kPretokenBytes * static_cast<double>(config.max_pretokens);
}

}  // namespace

std::string describe_memory(const TextJob& job, int threads) {
  const DataConfig& data = job.data;
  const double text = text_under_way(threads), files = shards(data);
  double learnt = 0;
  if (data.tokenizer_file.empty()) {
    learnt = learning(job.tokenizer) + (job.target_tokenizer ? learning(*job.target_tokenizer) : 0);
  }
  std::string said = fmt::format(
      "memory: {} at most, and the longest record: {} for shards (data.shard_tokens), {} for "
      "text under way (--threads)",
      gib(std::max(text + files, text + learnt)), gib(files), gib(text));
  if (learnt > 0) said += fmt::format(", before that {} to learn (tokenizer.max_pretokens, sample_bytes)", gib(learnt));
  if (data.duplicates != DuplicatePolicy::Keep) said += "; 16 bytes a record to find duplicates";
  if (data.is_parquet()) said += "; besides, of each column of a Parquet file one page and its dictionary";
  return said;
}

}  // namespace weft
