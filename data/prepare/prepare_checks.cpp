// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare_checks.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "data/dataset/dataset.h"
#include "data/dataset/manifest.h"
#include "data/dataset/shard_structure.h"
#include "data/prepare/prepare.h"
#include "data/prepare/resolved_text.h"
#include "data/tokenizer/file_names.h"

namespace weft {

namespace {

bool any_pipe(const BySplit<TextFiles>& splits) {
  const auto is_pipe = [](const TextFile& file) { return file.is_pipe(); };
  return std::ranges::any_of(splits, [&](const TextFiles& files) {
    return std::ranges::any_of(files.source, is_pipe) || std::ranges::any_of(files.target, is_pipe);
  });
}

// The names in data.directory that preparation writes, and those of the dataset that it would replace.
class OutputNames {
 public:
  explicit OutputNames(const TextJob& job) : directory_(job.data.directory) {
    const bool two = job.has_own_target();
    source_tokenizer_ = two ? kSourceTokenizerFile : kTokenizerFile;
    if (two) target_tokenizer_ = kTargetTokenizerFile;
    names_ = {kManifestName, source_tokenizer_, target_tokenizer_};
    try {
      old_ = is_prepared(directory_) ? files_of(read_manifest(directory_)) : old_;
    } catch (const DataError&) {  // a damaged manifest names no files
    }
    std::error_code error;
    for (fs::directory_iterator at(directory_, error), end; at != end; at.increment(error)) {
      const std::string name = at->path().filename();
      if (names_.contains(name) || old_.contains(name) || is_shard(name)) present_.insert(name);
    }
  }

  // The file that is written or removed and is this input; empty if there is none.
  fs::path taken_by(const PrepareInput& input) const {
    for (const std::string& name : present_) {
      const bool stays = (input.role == "data.tokenizer_file" && name == source_tokenizer_) ||
                         (input.role == "data.target_tokenizer_file" && name == target_tokenizer_);
      std::error_code error;
      if (!stays && fs::equivalent(directory_ / name, input.file.name(), error)) return directory_ / name;
    }
    return {};
  }
  // The file that another program or user wrote and that would be replaced; empty if there is none.
  fs::path foreign() const {
    const fs::path manifest = directory_ / kManifestName;
    if (present_.contains(kManifestName) && !may_be_manifest(read_file(manifest))) return manifest;
    for (const std::string& name : {source_tokenizer_, target_tokenizer_}) {
      if (present_.contains(name) && !old_.contains(name) && !is_tokenizer(directory_ / name)) return directory_ / name;
    }
    for (const std::string& name : present_) {
      if (is_shard(name) && !old_.contains(name) && !may_be_shard(directory_ / name)) return directory_ / name;
    }
    return {};
  }

 private:
  static bool is_shard(const std::string& name) {
    return std::ranges::any_of(kSplits, [&](DataSplit split) {
      return name.starts_with(std::string(enum_name(split)) + "-") && name.ends_with(".h5");
    });
  }
  static bool is_tokenizer(const fs::path& file) {
    try {
      Tokenizer::load(file);
      return true;
    } catch (const DataError&) {
      return false;
    }
  }

  fs::path directory_;
  std::string source_tokenizer_, target_tokenizer_;
  std::set<std::string> names_, old_, present_;
};

}  // namespace

void check_nothing_is_overwritten(const TextJob& job, const std::vector<PrepareInput>& inputs) {
  const OutputNames names(job);
  for (const PrepareInput& input : inputs) {
    const fs::path taken = names.taken_by(input);
    if (taken.empty()) continue;
    throw DataError(fmt::format("{}: {} would be written over: preparation writes or removes {}", input.role,
                                input.file.name().string(), taken.string()),
                    "move this input to another directory, or choose another data.directory");
  }
  if (const fs::path foreign = names.foreign(); !foreign.empty()) {
    throw DataError(foreign.string() + " was not written by weft, and would be replaced",
                    "move it away, or choose another data.directory");
  }
}

void check_documents_are_kept_apart(const DataConfig& data, const Tokenizer& tokenizer, Corpus& corpus) {
  if (data.is_pairs() || data.keeps_files_whole()) return;
  if (tokenizer.special(SpecialRole::Eos) || !corpus.holds_several()) return;
  throw ConfigError(
      "tokenizer.eos: the text holds several documents, and without an end token between them they would run together",
      "name one: tokenizer.specials: [</s>] and tokenizer.eos: </s>; or keep files whole, with their line ends "
      "(format text, document_delimiter: file)");
}

void check_preparation(const TextJob& job) {
  const ResolvedText text = resolve_text(job);
  if (any_pipe(text.files)) return;  // text read from a pipe here would be lost later
  Corpus corpus(job.data, text.files);
  check_documents_are_kept_apart(job.data, *text.tokenizers.source, corpus);
  corpus.check_beginnings();
}

}  // namespace weft
