// SPDX-License-Identifier: Apache-2.0
#include "data/batches/mixture_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "data/batches/mixture.h"

namespace weft {

std::vector<SourceReport> source_reports(const Dataset& dataset, const BatchPlan& plan, Position position) {
  const MixtureOrder* mixture = plan.mixture();
  if (mixture == nullptr || mixture->parts() == 1) return {};
  double epochs = static_cast<double>(position.epoch);
  if (position.step > 0) {  // at step 0 this avoids steps_per_epoch(), which may build the epoch
    epochs += static_cast<double>(position.step) / static_cast<double>(plan.steps_per_epoch(position.epoch));
  }
  double tokens_an_epoch = 0;
  for (size_t i = 0; i < mixture->parts(); ++i) {
    tokens_an_epoch += mixture->epochs_of(i, 1) * static_cast<double>(dataset.parts()[i].num_tokens);
  }
  std::vector<SourceReport> reports;
  for (size_t i = 0; i < mixture->parts(); ++i) {
    const DatasetPart& part = dataset.parts()[i];
    reports.push_back({.directory = part.directory.string(),
                       .weight = part.weight,
                       .share = static_cast<double>(mixture->taken(i)) / static_cast<double>(mixture->records()),
                       .tokens = part.num_tokens,
                       .records = mixture->records(i),
                       .records_an_epoch = mixture->taken(i),
                       .tokens_until_again = tokens_an_epoch / mixture->epochs_of(i, 1),
                       .epochs = mixture->epochs_of(i, epochs)});
  }
  return reports;
}

std::string describe_sources(const std::vector<SourceReport>& sources, DatasetKind kind) {
  if (sources.empty()) return {};
  size_t widest = 0;
  for (const SourceReport& source : sources) widest = std::max(widest, source.directory.size());
  const char* records = kind == DatasetKind::Stream ? "windows" : "pairs";
  std::string text = fmt::format("{:<{}}  {:>8} {:>8} {:>14} {:>12} {:>12} {:>20} {:>8}\n", "mixed", widest, "weight",
                                 "share", "tokens", records, "an epoch", "again after tokens", "epochs");
  for (const SourceReport& s : sources) {
    text +=
        fmt::format("{:<{}}  {:>8g} {:>6.2f} % {:>14} {:>12} {:>12} {:>20.0f} {:>8.2f}\n", s.directory, widest,
                    s.weight, 100 * s.share, s.tokens, s.records, s.records_an_epoch, s.tokens_until_again, s.epochs);
  }
  return text;
}

std::string describe_epochs(const std::vector<SourceReport>& sources) {
  std::string text;
  for (const SourceReport& s : sources) {
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", s.directory, s.epochs);
  }
  return text;
}

}  // namespace weft
