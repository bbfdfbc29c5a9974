// SPDX-License-Identifier: Apache-2.0
#include "evaluate/evaluation.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/files/new_file.h"
#include "base/log.h"
#include "base/progress.h"
#include "job/dataset_checks.h"

namespace weft {
namespace {

DataSplit chosen_split(const EvaluateOptions& options, const std::vector<DatasetSource>& sources) {
  if (options.split) return *options.split;
  if (Dataset::has_split(sources, DataSplit::Test) || !Dataset::has_split(sources, DataSplit::Valid))
    return DataSplit::Test;
  log_info("{} has no split test: this is valid", sources.front().directory.string());
  return DataSplit::Valid;
}

void check_dataset(const Dataset& dataset, const LoadedModel& loaded) {
  check_kind(loaded.job, dataset.header());
  check_tokenizers(loaded.path, *loaded.source_tokenizer, *loaded.target_tokenizer, dataset.header(), dataset.name());
}

// Checks, before anything takes time, that the options fit the model and the translations' file can be written.
TranslationOptions checked(const EvaluateOptions& options, const LoadedModel& loaded, bool is_rank0) {
  if (options.translation && !loaded.job.is_translation()) {
    throw ConfigError(fmt::format("options of the search and of metrics ({}), and --translations are for translation; "
                                  "this is a language model",
                                  metric_options()),
                      "leave them out");
  }
  TranslationOptions translation = options.translation.value_or(TranslationOptions{});
  check(translation.search);
  if (!translation.output.empty() && is_rank0) const NewFile trial(translation.output);
  return translation;
}

}  // namespace

EvaluationReport evaluate_split(Session& session, const EvaluateOptions& options) {
  const LoadedModel loaded = load_model(session.context(), session.mesh(), options.checkpoint, options.best,
                                        options.overrides, options.compute);
  session.set_budgets(loaded.job.timeouts);
  const std::vector<DatasetSource> sources = loaded.job.data.sources();
  const auto split = std::make_shared<const Dataset>(Dataset::open(sources, chosen_split(options, sources)));
  check_dataset(*split, loaded);
  const TranslationOptions translation = checked(options, loaded, session.is_rank0());
  log_info("{} on {} of {}", loaded.path.string(), enum_name(split->header().split), split->name());
  const SplitPerplexity perplexity = split_perplexity(loaded, split, options.perplexity);
  EvaluationReport report{.checkpoint = loaded.path,
                          .step = loaded.state.step,
                          .split = split->header().split,
                          .perplexity = perplexity.report,
                          .unknown = perplexity.unknown,
                          .left_out = perplexity.left_out,
                          .dataset = split->header()};
  PackedWeights& packed = loaded.model->packed_weights();
  if (report.weights = packed.format(); report.weights != WeightFormat::Own) {
    packed.set_format(WeightFormat::Own);
    report.own_weights = split_perplexity(loaded, split, options.perplexity).report;
    packed.set_format(report.weights);
  }
  if (!loaded.job.is_translation()) return report;
  const int64_t most = options.perplexity.max_sequences;
  const int64_t pairs = most > 0 ? std::min(split->num_pairs(), most) : split->num_pairs();
  report.translation = score_translations(loaded, *split, pairs, translation);
  return report;
}

std::string EvaluationReport::format() const {
  std::string text = perplexity.format() + "\n";
  if (own_weights) {
    const double own = own_weights->token_perplexity(), here = perplexity.token_perplexity();
    text += fmt::format("{} weights: perplexity {:.4f} per token, {:.4f} with the model's own: {:+.3f} %\n",
                        enum_name(weights), here, own, 100 * (here / own - 1));
  }
  text += describe_left_out();
  if (!translation) return text;
  std::set<std::string> lines;  // settings can make two metrics of the table equal
  for (const NamedScore& scored : translation->scores) {
    const std::string line = scored.score.format() + "\n";
    if (lines.insert(line).second) text += line;
  }
  return text;
}

// Notes on everything that the figures leave out of the split's text.
std::string EvaluationReport::describe_left_out() const {
  std::string text;
  const auto note = [&](int64_t count, const char* noun, const std::string& one, const std::string& several) {
    if (count > 0) text += fmt::format("note: {} {}\n", counted(count, noun), count == 1 ? one : several);
  };
  const std::string of_split = fmt::format("of {} ", enum_name(split));
  note(dataset.dropped_pairs, "pair", of_split + "was dropped at preparation: no figure counts it",
       of_split + "were dropped at preparation: no figure counts them");
  note(dataset.truncated_pairs, "pair", of_split + "was truncated at preparation",
       of_split + "were truncated at preparation");
  note(left_out, "pair", "is left out of the perplexity: it does not fit the model, or has no source",
       "are left out of the perplexity: they do not fit the model, or have no source");
  const std::string no_figure = " for text that the tokenizer does not know, so there is no figure per word or byte";
  note(unknown, "scored token", "stands" + no_figure, "stand" + no_figure);
  if (!translation) return text;
  note(translation->cut_sources, "source", "was cut, being longer than the model",
       "were cut, being longer than the model");
  if (!translation->raw_references) {
    text +=
        fmt::format("note: references are made of tokens: a dataset of version {} keeps no text of the targets of {}\n",
                    dataset.version, enum_name(split));
  }
  return text;
}

void to_json(nlohmann::ordered_json& json, const EvaluationReport& report) {
  const DatasetHeader& dataset = report.dataset;
  json = {{"checkpoint", report.checkpoint.string()}, {"step", report.step}, {"split", enum_name(report.split)}};
  json["dataset"] = {{"version", dataset.version},
                     {"dropped_pairs", dataset.dropped_pairs},
                     {"truncated_pairs", dataset.truncated_pairs},
                     {"unknown_source_tokens", dataset.source.num_unknown},
                     {"unknown_target_tokens", dataset.target.num_unknown}};
  json["perplexity"] = nlohmann::json(report.perplexity);
  json["perplexity"]["unknown_tokens"] = report.unknown;
  json["perplexity"]["pairs_left_out"] = report.left_out;
  if (report.own_weights) {
    json["weights"] = enum_name(report.weights);
    json["own_weights"] = nlohmann::json(*report.own_weights);
  }
  if (!report.translation) return;
  json["pairs"] = report.translation->pairs;
  json["cut_sources"] = report.translation->cut_sources;
  json["references"] = report.translation->raw_references ? "text" : "tokens";
  for (const NamedScore& scored : report.translation->scores) json[scored.name] = scored.score;
}

}  // namespace weft
