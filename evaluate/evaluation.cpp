#include "evaluate/evaluation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/log.h"

namespace weft {
namespace {

void check_tokenizer(const Dataset& dataset, const LoadedModel& loaded) {
  if (dataset.header().target.tokenizer_hash == loaded.target_tokenizer->hash()) return;
  throw DataError(
      fmt::format("{} was made with another tokenizer than {}", loaded.job.data.directory, loaded.path.string()),
      "prepare the text again with data.tokenizer_file set to the checkpoint's target-tokenizer.json");
}

// Before anything takes time: the options fit the model, and the file for the translations can be written.
TranslationOptions checked(const EvaluateOptions& options, const LoadedModel& loaded, bool is_rank0) {
  if (options.translation && !loaded.job.is_translation()) {
    throw ConfigError(
        "options of the search, --bleu, --translations and --baselines are for translation; this is a language model",
        "leave them out");
  }
  TranslationOptions translation = options.translation.value_or(TranslationOptions{});
  check(translation.search);
  if (!translation.output.empty() && is_rank0) {
    const fs::path trial = translation.output.string() + ".tmp";
    { const File made(trial, File::Mode::Create); }
    fs::remove(trial);
  }
  return translation;
}

// Rank 0 scores the baselines alone, for as long as it takes, while the others wait for its end.
PhaseBudgets no_timeouts(PhaseBudgets budgets) {
  budgets.init_seconds = budgets.evaluate_seconds = 0;
  return budgets;
}

}  // namespace

EvaluationReport evaluate_split(Session& session, const EvaluateOptions& options) {
  const LoadedModel loaded = load_model(session.context(), session.mesh(), options.checkpoint, options.best,
                                        options.overrides, options.compute);
  session.set_budgets(loaded.job.timeouts);
  const auto split = std::make_shared<const Dataset>(Dataset::open(loaded.job.data.directory, options.split));
  check_tokenizer(*split, loaded);
  const TranslationOptions translation = checked(options, loaded, session.is_rank0());
  log_info("{} on {} of {}", loaded.path.string(), options.split, loaded.job.data.directory);
  EvaluationReport report{.checkpoint = loaded.path,
                          .step = loaded.state.step,
                          .split = options.split,
                          .perplexity = split_perplexity(loaded, split, options.perplexity)};
  PackedWeights& packed = loaded.model->packed_weights();
  if (report.weights = packed.format(); report.weights != WeightFormat::Own) {
    packed.set_format(WeightFormat::Own);
    report.own_weights = split_perplexity(loaded, split, options.perplexity);
    packed.set_format(report.weights);
  }
  if (!loaded.job.is_translation()) return report;
  const int64_t most = options.perplexity.max_sequences;
  const int64_t pairs = most > 0 ? std::min(split->num_pairs(), most) : split->num_pairs();
  report.translation = score_translations(loaded, *split, pairs, translation);
  if (!translation.baselines) return report;
  session.set_budgets(no_timeouts(loaded.job.timeouts));
  if (session.is_rank0()) report.translation->baselines = split_baselines(loaded, *split, pairs, translation.bleu);
  return report;
}

std::string EvaluationReport::format() const {
  std::string text = perplexity.format() + "\n";
  if (own_weights) {
    const double own = own_weights->token_perplexity(), here = perplexity.token_perplexity();
    text += fmt::format("{} weights: perplexity {:.4f} per token, {:.4f} with the model's own: {:+.3f} %\n",
                        enum_name(weights), here, own, 100 * (here / own - 1));
  }
  if (!translation) return text;
  text += translation->bleu.format() + "\n" + translation->chrf.format() + "\n";
  for (const BaselineScore& baseline : translation->baselines) {
    text += baseline.name + ": " + baseline.bleu.format() + "\n";
  }
  return text;
}

void to_json(nlohmann::ordered_json& json, const EvaluationReport& report) {
  json = {{"checkpoint", report.checkpoint.string()}, {"step", report.step}, {"split", report.split}};
  json.update(nlohmann::ordered_json(nlohmann::json(report.perplexity)));
  if (report.own_weights) {
    json["weights"] = enum_name(report.weights);
    json["own_weights"] = nlohmann::json(*report.own_weights);
  }
  if (!report.translation) return;
  json["bleu"] = nlohmann::json(report.translation->bleu);
  json["chrf"] = nlohmann::json(report.translation->chrf);
  for (const BaselineScore& baseline : report.translation->baselines) {
    json["baselines"][baseline.name] = nlohmann::json(baseline.bleu);
  }
}

}  // namespace weft
