// SPDX-License-Identifier: Apache-2.0
#include "job/dataset_checks.h"

#include <algorithm>

#include "base/config/writer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "checkpoint/reader.h"
#include "data/batches/loader.h"
#include "data/prepare/prepare.h"
#include "data/tokenizer/file_names.h"
#include "data/tokenizer/same_ids.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

void check_longest(int64_t longest, const JobConfig& job, const std::string& where, const std::string& alternative) {
  if (longest <= job.model.max_length) return;
  throw ConfigError(
      fmt::format("{} has a sequence of {} tokens, but model.max_length is {}", where, longest, job.model.max_length),
      "raise model.max_length, or " + alternative);
}

void check_kind(const JobConfig& job, const DatasetHeader& header) {
  const std::string& directory = job.data.directory;
  const bool pairs = header.kind == DatasetKind::Pairs;
  if (pairs != (job.task == Task::Translation)) {
    throw ConfigError(
        fmt::format("{} holds {}, but task is {}", directory, enum_name(header.kind), enum_name(job.task)),
        "prepare another data.directory for this job");
  }
}

namespace {

// A table of embeddings that both languages share needs ids that stand for the same token in both.
void check_shared_table(const JobConfig& job, const Dataset& dataset) {
  const DatasetHeader& header = dataset.header();
  if (job.model.tying != Tying::All || header.source.tokenizer_hash == header.target.tokenizer_hash) return;
  if (have_same_ids(*dataset.load_source_tokenizer(), *dataset.load_target_tokenizer())) return;
  throw ConfigError(fmt::format("model.tying is all, but {} has two tokenizers", job.data.directory),
                    "use one tokenizer for both languages, or model.tying: output");
}

}  // namespace

void check_job_against(const JobConfig& job, const Dataset& dataset) {
  const DatasetHeader& header = dataset.header();
  check_kind(job, header);
  if (job.data.document_mask) end_of_documents(dataset);
  if (header.kind != DatasetKind::Pairs) return;
  check_shared_table(job, dataset);
  check_longest(std::max(header.source.longest, header.target.longest - 1), job, dataset.name(),
                "prepare again with data.max_source_tokens and data.max_target_tokens");
}

void override_dataset(const JobConfig& job, std::vector<std::string>& overrides) {
  std::vector<MixtureSource> mixture = job.data.mixture;
  overrides.push_back("data.directory=" + job.data.directory);
  overrides.push_back("data.mixture=" + value_on_one_line(encode_value(mixture)));
}

EvaluationOptions validation_options(const JobConfig& job) {
  return {.context_length = job.batch.context_length,
          .max_sequences = job.evaluation.max_sequences,
          .document_mask = job.data.document_mask,
          .leaves = job.numerics == Numerics::SameBits,
          .max_length = job.model.max_length};
}

void check_validation(const JobConfig& job, const Dataset& valid, bool tell) {
  const EvaluationOptions options = validation_options(job);
  const auto plan = make_evaluation_plan(options, valid);
  const int64_t left_out = left_out_of(*plan, valid, options);
  if (left_out == 0 || !tell) return;
  log_warning("validation leaves {} of {} pairs out: they have no source, or more tokens than model.max_length, {}",
              left_out, left_out + plan->sequences_per_epoch(), job.model.max_length);
}

void check_validation_text(const JobConfig& job, const Dataset* valid, const std::string& place) {
  if (!job.evaluation.translates()) return;
  const auto refuse = [&](const std::string& what, const char* hint) {
    throw DataError(fmt::format("{}evaluation.metric: {} translates the validation split, but {}", place,
                                enum_name(job.evaluation.metric), what),
                    hint);
  };
  if (valid == nullptr || valid->num_pairs() == 0) {
    refuse(fmt::format("{} holds none", job.data.directory),
           "prepare it again with pairs held out (data.valid or data.valid_fraction), or set evaluation.metric: loss");
  }
  const DatasetHeader& header = valid->header();
  if (header.references) return;
  refuse(fmt::format("{} (version {}) does not keep the text of its targets", valid->name(), header.version),
         "prepare it again (`weft prepare --force`), or set evaluation.metric: loss");
}

void check_held_out(const JobConfig& job, const std::string& place) {
  const std::vector<DatasetSource> sources = job.data.sources();
  if (!Dataset::has_split(sources, DataSplit::Valid)) return check_validation_text(job, nullptr, place);
  const Dataset valid = Dataset::open(sources, DataSplit::Valid);
  check_validation_text(job, &valid, place);
  check_validation(job, valid, true);
}

void check_answers(const JobConfig& job, const Dataset& dataset) {
  if (!is_joined(dataset.header().kind)) return;
  std::vector<int32_t> prompts, answers;
  dataset.all_lengths(prompts, answers);
  int64_t longest = 0;
  for (size_t i = 0; i < prompts.size(); ++i) longest = std::max<int64_t>(longest, prompts[i] + answers[i] - 1);
  check_longest(longest, job, fmt::format("split {} of {}", enum_name(dataset.header().split), dataset.name()),
                "prepare again with data.max_source_tokens and data.max_target_tokens, which together leave so many");
}

void check_tokenizers(const Checkpoint& checkpoint, const DatasetHeader& header, const fs::path& dataset) {
  const CheckpointTokenizers tokenizers = checkpoint.tokenizers();
  check_tokenizers(checkpoint.path(), *tokenizers.source, *tokenizers.target, header, dataset);
}

void check_tokenizers(const fs::path& path, const Tokenizer& source, const Tokenizer& target,
                      const DatasetHeader& header, const fs::path& dataset) {
  const auto check_side = [&](const char* file, const Tokenizer& tokenizer, const DatasetSide& side) {
    if (tokenizer.hash() == side.tokenizer_hash) return;
    throw DataError(fmt::format("{} was made with another tokenizer (hash {}) than {} (hash {})", dataset.string(),
                                hash_hex(side.tokenizer_hash), (path / file).string(), hash_hex(tokenizer.hash())),
                    fmt::format("prepare the text again with the checkpoint's {} as data.{}tokenizer_file", file,
                                std::string_view(file).starts_with("target") ? "target_" : ""));
  };
  check_side(kSourceTokenizerFile, source, header.source);
  if (header.kind == DatasetKind::Pairs) check_side(kTargetTokenizerFile, target, header.target);
}

void check_prepared_as(const JobConfig& job, const std::string& path, const std::vector<std::string>& overrides) {
  const std::string differs = prepared_otherwise(job.data.directory, job.text());
  if (differs.empty()) return;
  const std::string key = differs.substr(0, differs.find(' '));
  throw ConfigError(fmt::format("{}{}: {} was prepared differently: {}", place_of_key(key, path, overrides), key,
                                job.data.directory, differs),
                    "undo the change, or `weft prepare --force` and train from scratch");
}

}  // namespace weft
