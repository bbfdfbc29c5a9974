#include "job/dataset_checks.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

void check_longest(int64_t longest, const JobConfig& job, const std::string& where, const std::string& otherwise) {
  if (longest <= job.model.max_length) return;
  throw ConfigError(
      fmt::format("{} has a sequence of {} tokens, but model.max_length is {}", where, longest, job.model.max_length),
      "raise model.max_length, or " + otherwise);
}

void check_job_against(const JobConfig& job, const DatasetHeader& header) {
  const std::string& directory = job.data.directory;
  const bool pairs = header.kind == DatasetKind::Pairs;
  if (pairs != (job.task == Task::Translation)) {
    throw ConfigError(
        fmt::format("{} holds {}, but task is {}", directory, enum_name(header.kind), enum_name(job.task)),
        "prepare another data.directory for this job");
  }
  if (pairs) {
    check_longest(std::max(header.source.longest, header.target.longest - 1), job, directory,
                  "prepare again with data.max_source_tokens and data.max_target_tokens");
    if (job.model.tying == Tying::All && header.source.tokenizer_hash != header.target.tokenizer_hash) {
      throw ConfigError(fmt::format("model.tying is all, but {} has two tokenizers", directory),
                        "use one tokenizer for both languages, or model.tying: output");
    }
  }
}

void check_answers(const JobConfig& job, const Dataset& dataset) {
  if (dataset.header().kind != DatasetKind::Answers) return;
  std::vector<int32_t> prompts, answers;
  dataset.all_lengths(prompts, answers);
  int64_t longest = 0;
  for (size_t i = 0; i < prompts.size(); ++i) longest = std::max<int64_t>(longest, prompts[i] + answers[i] - 1);
  check_longest(longest, job, fmt::format("split {} of {}", dataset.header().split, job.data.directory),
                "prepare again with data.max_source_tokens and data.max_target_tokens, which together leave so many");
}

void check_tokenizers(const Checkpoint& checkpoint, const DatasetHeader& header, const fs::path& dataset) {
  const auto check_side = [&](const char* file, const DatasetSide& side) {
    const std::string text = read_attachment(checkpoint.path(), checkpoint.manifest(), file);
    const uint64_t hash = Tokenizer::from_json(text, (checkpoint.path() / file).string())->hash();
    if (hash == side.tokenizer_hash) return;
    throw DataError(fmt::format("{} was made with another tokenizer (hash {}) than {} (hash {})", dataset.string(),
                                hash_hex(side.tokenizer_hash), (checkpoint.path() / file).string(), hash_hex(hash)),
                    fmt::format("prepare the text again with the checkpoint's {} as data.{}tokenizer_file", file,
                                std::string_view(file).starts_with("target") ? "target_" : ""));
  };
  check_side("source-tokenizer.json", header.source);
  if (header.kind == DatasetKind::Pairs) check_side("target-tokenizer.json", header.target);
}

}  // namespace weft
