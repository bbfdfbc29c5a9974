// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare.h"

#include <fmt/format.h>

#include <chrono>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/progress.h"
#include "data/dataset/dataset.h"
#include "data/dataset/inspect.h"
#include "data/prepare/inputs.h"
#include "data/prepare/preparation.h"
#include "data/prepare/prepare_checks.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

namespace {

using Clock = std::chrono::steady_clock;

// Why the existing dataset must be written again; empty if it can stay.
std::string reason_to_replace(const fs::path& directory, const Manifest& manifest, const std::string& differs,
                              bool force) {
  if (!differs.empty()) {
    if (force) return differs;
    throw DataError(fmt::format("{} already holds another dataset: {}", directory.string(), differs),
                    "choose another directory, or replace it: weft prepare --force");
  }
  try {
    std::optional<Dataset> split;
    for (const auto& [name, entry] : manifest.splits) split.emplace(Dataset::open(directory, name));
    if (!split) return "it has no splits";
    split->load_source_tokenizer();
    if (manifest.target.tokenizer_file != manifest.source.tokenizer_file) split->load_target_tokenizer();
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

// The complete dataset in the directory, if it was made with these settings.
std::optional<Manifest> prepared_with(const fs::path& directory, const std::map<std::string, std::string>& settings) {
  if (!is_prepared(directory)) return {};
  try {
    Manifest manifest = read_manifest(directory);
    const bool stays = reason_to_replace(directory, manifest, difference_of_settings(manifest, settings), true).empty();
    return stays ? std::optional(std::move(manifest)) : std::nullopt;
  } catch (const DataError&) {
    return {};
  }
}

// How the ranks shared the text, if there were several: "  4 ranks encoded 30, 24, 23, 23 % of the text".
std::string describe_shares(const std::vector<uint64_t>& shares) {
  const auto total = static_cast<double>(std::accumulate(shares.begin(), shares.end(), uint64_t{0}));
  if (shares.size() < 2 || total == 0) return {};
  std::vector<std::string> parts;
  for (const uint64_t share : shares) parts.push_back(fmt::format("{:.0f}", 100 * static_cast<double>(share) / total));
  return fmt::format("  {} ranks encoded {} % of the text\n", shares.size(), fmt::join(parts, ", "));
}

}  // namespace

PrepareReport prepare(const TextJob& job, const PrepareOptions& options) {
  const Clock::time_point begin = Clock::now();
  const auto settings = prepare_settings(job);
  PrepareReport report{.directory = job.data.directory};
  std::optional<ResolvedText> text;
  try {
    text = resolve_text(job);
  } catch (const DataError& error) {
    std::optional<Manifest> manifest;
    if (!options.force) manifest = prepared_with(report.directory, settings);
    if (!manifest) throw;
    report.already_prepared = true, report.not_compared = error.what(), report.manifest = std::move(*manifest);
    return report;
  }
  Preparation preparation(*text, options);
  check_documents_are_kept_apart(job.data, *text->tokenizers.source, preparation.corpus());
  const std::vector<PrepareInput> files = preparation.inputs();
  check_nothing_is_overwritten(job, files);
  std::vector<InputEntry> inputs = stat_inputs(files);

  if (is_prepared(report.directory)) {
    std::string differs;
    try {
      report.manifest = read_manifest(report.directory);
      differs = difference_of_dataset(report.manifest, settings, files, inputs);
      if (differs.empty() && options.force && report.manifest.version < kDatasetVersion) {
        differs = fmt::format("its format is of version {}", report.manifest.version);
      }
    } catch (const DataError& error) {
      if (!options.force) throw;
      differs = error.what();
    }
    report.replaced = reason_to_replace(report.directory, report.manifest, differs, options.force);
    report.already_prepared = report.replaced.empty();
    if (report.already_prepared) {
      clear_after_commit(report.directory);
      return report;
    }
  }

  preparation.corpus().check_beginnings();
  OutputDirectory directory(report.directory);
  report.manifest = preparation.write(directory, identity_of(settings, inputs));
  report.resumed = preparation.resumed();
  report.shares = preparation.shares();
  const std::vector<InputEntry> after = stat_inputs(files);
  for (size_t i = 0; i < inputs.size(); ++i) {
    require<DataError>(inputs[i] == after[i], "{} changed while it was read", inputs[i].path);
  }
  fill_checksums(files, preparation.corpus().checksums(), inputs);
  report.manifest.inputs = std::move(inputs);
  report.manifest.settings = settings;
  directory.commit(report.manifest);
  preparation.release();
  report.seconds = seconds_since(begin);
  return report;
}

std::string prepared_otherwise(const fs::path& directory, const TextJob& job) {
  const DataConfig& data = job.data;
  Manifest manifest = read_manifest(directory);
  auto settings = prepare_settings(job);
  for (const char* free : {"data.shard_tokens", "data.max_unknown_fraction", "data.max_unknown"}) {
    manifest.settings.erase(free), settings.erase(free);
  }
  const auto is_file_of = [](const std::string& file, const DatasetSide& side) {
    return !file.empty() && (!fs::exists(file) || Tokenizer::load(file)->hash() == side.tokenizer_hash);
  };
  const auto settle_file = [&](const char* key, const std::string& file, const DatasetSide& side) {
    if (manifest.settings.contains(key) && is_file_of(file, side)) settings[key] = manifest.settings[key];
  };
  if (is_file_of(data.tokenizer_file, manifest.source)) {  // the same tokenizer, however it was made
    std::erase_if(manifest.settings, [](const auto& setting) {
      return setting.first.starts_with("tokenizer.") || setting.first.starts_with("target_tokenizer.");
    });
  }
  settle_file("data.tokenizer_file", data.tokenizer_file, manifest.source);
  settle_file("data.target_tokenizer_file", data.target_tokenizer_file, manifest.target);
  return difference_of_settings(manifest, settings);
}

std::string describe(const PrepareReport& report) {
  std::string text;
  if (!report.not_compared.empty()) {
    text = fmt::format("{} is prepared already with these settings; its text cannot be compared: {}\n",
                       report.directory.string(), report.not_compared);
  } else if (report.already_prepared) {
    text = fmt::format("{} is prepared already from this text with these settings: nothing to do\n",
                       report.directory.string());
  } else {
    text = fmt::format("prepared {} in {:.1f} s\n", report.directory.string(), report.seconds);
    if (report.resumed > 0) {
      text += fmt::format("  {} {} encoded already by a run that did not end\n", counted(report.resumed, "record"),
                          report.resumed == 1 ? "was" : "were");
    }
    text += describe_shares(report.shares);
    if (!report.replaced.empty()) text += fmt::format("  replaced the dataset that was there: {}\n", report.replaced);
  }
  return text + describe_splits(report.manifest);
}

}  // namespace weft
