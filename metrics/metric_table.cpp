// SPDX-License-Identifier: Apache-2.0
#include "metrics/metric_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/config/writer.h"
#include "base/error.h"
#include "metrics/bleu.h"
#include "metrics/character_error_rate.h"
#include "metrics/chrf.h"
#include "metrics/ter.h"

namespace weft {
namespace {

// A metric class M has a section M::Config and is made from one.
template <class M>
std::shared_ptr<const Metric> made(const std::string& where, const std::vector<std::string>& settings) {
  return std::make_shared<const M>(read_options<typename M::Config>(where, settings));
}

std::shared_ptr<const Metric> made_chrf_plus_plus(const std::string& where, const std::vector<std::string>& settings) {
  ChrfConfig config = read_options<ChrfConfig>(where, settings);
  config.word_order = 2;
  return std::make_shared<const Chrf>(config);
}

template <class M>
std::vector<ConfigDoc> fields_of() {
  return config_docs(typename M::Config{});
}

constexpr auto kMetrics = std::to_array<MetricEntry>({
    {"bleu", "bleu", Better::Higher, "precision of n-grams of words, with a penalty for brevity", made<Bleu>,
     fields_of<Bleu>},
    {"chrf", "chrf", Better::Higher, "F-score of n-grams of characters", made<Chrf>, fields_of<Chrf>},
    {"chrf++", "chrf", Better::Higher, "chrF that counts words and pairs of words too", made_chrf_plus_plus,
     fields_of<Chrf>},
    {"ter", "ter", Better::Lower, "edits and shifts of phrases, over the words of the references", made<Ter>,
     fields_of<Ter>},
    {"cer", "cer", Better::Lower, "character error rate: edits of characters, over those of the references",
     made<CharacterErrorRate>, fields_of<CharacterErrorRate>},
});

}  // namespace

std::span<const MetricEntry> metric_table() { return kMetrics; }

const MetricEntry& find_metric(std::string_view name) {
  const auto found = std::ranges::find(kMetrics, name, &MetricEntry::name);
  if (found != kMetrics.end()) return *found;
  std::vector<std::string_view> names;
  for (const MetricEntry& entry : kMetrics) names.push_back(entry.name);
  throw ConfigError(fmt::format("there is no metric {}", name), fmt::format("one of {}", fmt::join(names, ", ")));
}

std::shared_ptr<const Metric> make_metric(const MetricEntry& entry, const MetricSettings& settings) {
  const auto given = settings.find(entry.option);
  return entry.make(fmt::format("--{}", entry.option),
                    given == settings.end() ? std::vector<std::string>{} : given->second);
}

std::vector<const MetricEntry*> metrics_by_option() {
  std::vector<const MetricEntry*> firsts;
  for (const MetricEntry& entry : kMetrics) {
    const auto of_option = [&](const MetricEntry* first) { return first->option == entry.option; };
    if (std::ranges::none_of(firsts, of_option)) firsts.push_back(&entry);
  }
  return firsts;
}

std::string metric_options() {
  std::vector<std::string> options;
  for (const MetricEntry* entry : metrics_by_option()) options.push_back(fmt::format("--{}", entry->option));
  return fmt::format("{}", fmt::join(options, ", "));
}

}  // namespace weft
