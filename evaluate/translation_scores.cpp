// SPDX-License-Identifier: Apache-2.0
#include "evaluate/translation_scores.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/files.h"
#include "base/log.h"
#include "base/progress.h"
#include "generate/one_line.h"
#include "generate/shared_translation.h"

namespace weft {
namespace {

// The targets of the first `pairs` pairs without specials, decoded from the dataset's tokens.
std::vector<std::string> decoded_targets(const Dataset& split, const Tokenizer& tokenizer, int64_t pairs) {
  std::vector<std::string> texts;
  std::vector<int32_t> row;
  for (int64_t i = 0; i < pairs; ++i) {
    row.resize(static_cast<size_t>(split.target_length(i)));
    split.read_target(i, row);
    texts.push_back(tokenizer.decode(row));
  }
  return texts;
}

}  // namespace

SplitSources read_sources(const Dataset& split, int64_t first, int64_t last, int64_t max_length) {
  const DatasetSide& side = split.header().source;
  SplitSources sources;
  for (int64_t i = first; i < last; ++i) {
    std::vector<int32_t>& row = sources.rows.emplace_back(static_cast<size_t>(split.source_length(i)));
    split.read_source(i, row);
    if (std::ranges::all_of(row, [&](int32_t id) { return id == side.bos || id == side.eos; })) row.clear();
    sources.cut += cut_source(row, max_length, side.eos);
  }
  return sources;
}

std::vector<std::string> read_references(const Dataset& split, const Tokenizer& tokenizer, int64_t pairs) {
  if (!split.header().references) return decoded_targets(split, tokenizer, pairs);
  std::vector<std::string> references;
  for (int64_t i = 0; i < pairs; ++i) references.push_back(split.read_reference(i));
  return references;
}

TranslationScores score_translations(const LoadedModel& loaded, const Dataset& split, int64_t pairs,
                                     const TranslationOptions& options) {
  const bool is_rank0 = loaded.model->parameters().mesh().world().rank() == 0;
  SplitSources sources = read_sources(split, 0, pairs, loaded.job.model.max_length);
  Progress console(is_rank0);
  // Sentences are decoded many at a time, so none is finished for a while: the pace is measured from the first one.
  Pace pace;
  const auto show = [&](int64_t done, int64_t total) {
    pace.reach(static_cast<double>(done));
    console.show(fmt::format("translating {}/{}  {} left", done, total,
                             format_duration(pace.seconds_left(static_cast<double>(total)))));
  };
  const TextGenerator generator = text_generator(loaded);
  std::vector<std::string> translations;
  for (const NBest& best : translate_on_ranks(generator, {.sources = std::move(sources.rows)}, options.search, show)) {
    translations.push_back(one_line(generator.text(best.at(0), options.search.stop_strings)));
  }
  console.clear();
  if (!options.output.empty() && is_rank0) {
    write_file_atomically(options.output, fmt::format("{}\n", fmt::join(translations, "\n")));
  }
  const std::vector<std::vector<std::string>> references = {read_references(split, *loaded.target_tokenizer, pairs)};
  TranslationScores result{.pairs = pairs, .cut_sources = sources.cut, .raw_references = split.header().references};
  for (const auto& [name, metric] : options.metrics) {
    result.scores.push_back({name, CorpusScore(metric, translations, references)});
    if (const std::string warning = metric->warning(translations); !warning.empty()) log_warning("{}", warning);
  }
  return result;
}

std::vector<NamedMetric> every_metric(const MetricSettings& settings) {
  std::vector<NamedMetric> metrics;
  for (const MetricEntry& entry : metric_table()) {
    metrics.push_back({std::string(entry.name), make_metric(entry, settings)});
  }
  return metrics;
}

const CorpusScore& TranslationScores::of(std::string_view metric) const {
  const auto found = std::ranges::find(scores, metric, &NamedScore::name);
  require<InternalError>(found != scores.end(), "no score by {}", metric);
  return found->score;
}

}  // namespace weft
