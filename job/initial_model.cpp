// SPDX-License-Identifier: Apache-2.0
#include "job/initial_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/config/reader.h"
#include "base/config/writer.h"
#include "base/error.h"
#include "checkpoint/locate.h"
#include "checkpoint/manifest.h"
#include "data/tokenizer/file_names.h"
#include "data/tokenizer/tokenizer.h"
#include "job/migration.h"

namespace weft {
namespace {

// The job of the checkpoint that a job begins from, and the paths of its tokenizers.
struct Inherited {
  std::string from;  // for messages
  JobConfig job;
  std::string tokenizer_file, target_tokenizer_file;
  std::optional<uint64_t> tokenizer_hash;  // hash of the source tokenizer, if the checkpoint exists
};

uint64_t attachment_hash(const CheckpointManifest& manifest, const char* name) {
  const auto at = std::ranges::find(manifest.attachments, name, &CheckpointAttachment::name);
  return at == manifest.attachments.end() ? 0 : at->hash;
}

Inherited inherited_from(const fs::path& path) {
  const CheckpointManifest manifest = read_checkpoint_manifest(path);
  Inherited inherited{.from = path.string(), .job = parse_stored_job(manifest.job, manifest_path(path).string())};
  if (inherited.job.lora.active()) {
    throw ConfigError(
        fmt::format("train.init_from: {} has adapters that are not merged with its weights", path.string()),
        fmt::format("weft merge {} OUT, then begin from OUT", path.string()));
  }
  inherited.tokenizer_file = (path / kSourceTokenizerFile).string();
  const bool own_target =
      attachment_hash(manifest, kSourceTokenizerFile) != attachment_hash(manifest, kTargetTokenizerFile);
  if (own_target) inherited.target_tokenizer_file = (path / kTargetTokenizerFile).string();
  const std::string text = read_attachment(path, manifest, kSourceTokenizerFile);
  inherited.tokenizer_hash = Tokenizer::from_json(text, inherited.tokenizer_file)->hash();
  return inherited;
}

// The latest checkpoint of the job's own run stores what the run took over, if it began from the same place.
std::optional<Inherited> inherited_before(const JobConfig& job) {
  const std::vector<fs::path> saved = checkpoints_at(job.run_directory());
  if (saved.empty()) return std::nullopt;
  const JobConfig before =
      parse_stored_job(read_checkpoint_manifest(saved.back()).job, manifest_path(saved.back()).string());
  if (before.train.init_from != job.train.init_from) return std::nullopt;
  return Inherited{.from = saved.back().string(),
                   .job = before,
                   .tokenizer_file = before.data.tokenizer_file,
                   .target_tokenizer_file = before.data.target_tokenizer_file};
}

template <Section T>
void list_contradictions(const std::string& section, const T& theirs, const T& ours, const std::string& from,
                         std::vector<std::string>& problems) {
  for (const ConfigChange& change : config_changes(theirs, ours)) {
    const std::string key = section + "." + change.key;
    const bool own = key.starts_with("model.dropout") || key == "model.init" || key == "model.init_std";
    if (own) continue;
    problems.push_back(fmt::format("{}: {}, but {}, which train.init_from begins from, has {}; remove it", key,
                                   change.after, from, change.before));
  }
}

void check_tokenizer_file(const JobConfig& job, const Inherited& inherited, std::vector<std::string>& problems) {
  const std::string& file = job.data.tokenizer_file;
  if (file.empty() || !inherited.tokenizer_hash || !fs::exists(file)) return;
  if (Tokenizer::load(file)->hash() == *inherited.tokenizer_hash) return;
  problems.push_back(
      fmt::format("data.tokenizer_file: {} is another tokenizer than {}, which its weights were trained "
                  "with; remove it",
                  file, inherited.tokenizer_file));
}

}  // namespace

fs::path initial_checkpoint(const fs::path& init_from) { return newest_checkpoint(init_from, "train.init_from"); }

JobConfig with_initial_model(const JobConfig& given, const ConfigValue& tree) {
  const auto before = fs::exists(given.train.init_from) ? std::nullopt : inherited_before(given);
  const Inherited inherited = before ? *before : inherited_from(initial_checkpoint(given.train.init_from));
  const JobConfig& theirs = inherited.job;
  JobConfig defaults;
  defaults.task = theirs.task, defaults.model = theirs.model;
  defaults.tokenizer = theirs.tokenizer, defaults.target_tokenizer = theirs.target_tokenizer;
  defaults.data.source_bos = theirs.data.source_bos, defaults.data.source_eos = theirs.data.source_eos;
  if (theirs.data.format == TextFormat::Messages) defaults.data.chat = theirs.data.chat;
  JobConfig job = decode_config<JobConfig>(tree, {}, defaults);
  std::vector<std::string> problems;
  if (job.task != theirs.task) {
    problems.push_back(fmt::format("task: {}, but {}, which train.init_from begins from, is {}; remove it",
                                   enum_name(job.task), inherited.from, enum_name(theirs.task)));
  }
  list_contradictions("model", theirs.model, job.model, inherited.from, problems);
  list_contradictions("tokenizer", theirs.tokenizer, job.tokenizer, inherited.from, problems);
  check_tokenizer_file(job, inherited, problems);
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n")));
  if (job.data.tokenizer_file.empty()) {
    job.data.tokenizer_file = inherited.tokenizer_file;
    job.data.target_tokenizer_file = inherited.target_tokenizer_file;
  }
  return job;
}

}  // namespace weft
