// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/output.h"
#include "launch/commands.h"
#include "launch/metric_options.h"
#include "metrics/file_scores.h"

namespace weft {
namespace {

struct ScoreArguments {
  std::vector<std::string> hypotheses = {"-"};
  std::vector<std::string> references;
  std::vector<std::string> metrics = {std::string(metric_table().front().name)};
  MetricArguments settings;
  bool confidence = false;
  BootstrapConfig bootstrap;
  bool json = false;
};

ExitCode score(const ScoreArguments& a) {
  FileScoreOptions options{.hypotheses = {a.hypotheses.begin(), a.hypotheses.end()},
                           .references = {a.references.begin(), a.references.end()}};
  for (const std::string& name : a.metrics) {
    options.metrics.push_back(make_metric(find_metric(name), a.settings.settings()));
  }
  if (a.confidence) options.bootstrap = a.bootstrap;
  const FileScores scores = score_files(options);
  for (const std::string& warning : scores.warnings) log_warning("{}", warning);
  // Names of files may be any bytes, which JSON cannot hold.
  using Json = nlohmann::ordered_json;
  print(a.json ? Json(scores).dump(1, ' ', false, Json::error_handler_t::replace) + "\n" : scores.format());
  return ExitCode::Done;
}

}  // namespace

void add_score_command(Command& app, Action& action) {
  Command command = app.add_command(
      "score", "BLEU, chrF and other metrics of text files, with intervals and comparisons.", Workers::OneProcess);
  auto a = std::make_shared<ScoreArguments>();
  command.footer(
      "  weft score --hypotheses out.txt --reference ref.txt\n"
      "  weft translate --checkpoint runs/NAME <src.txt | weft score --reference ref.txt --metrics bleu chrf++ ter\n"
      "  weft score --hypotheses old.txt --hypotheses new.txt --reference a.txt --reference b.txt --paired-bs\n\n" +
      metrics_help());
  command
      .add_option("--hypotheses", a->hypotheses,
                  "Translations of a system, one per line (may be gzipped; repeatable); -: standard input")
      .type_name("FILE")
      .one_value_each()
      .show_default();
  command.add_option("--reference", a->references, "Reference translations, line by line (repeatable)")
      .type_name("FILE")
      .one_value_each()
      .required();
  command.add_option("--metrics", a->metrics, "One or more of the metrics below").type_name("METRIC").show_default();
  a->settings.add_to(command);
  Option confidence = command.add_flag(
      "--confidence,--paired-bs", a->confidence,
      "Mean and 95 % interval by bootstrap; with several systems also a paired test of each against the first");
  command.add_option("--samples", a->bootstrap.samples, "Bootstrap samples")
      .between(1, 10'000'000)
      .needs(confidence)
      .show_default();
  command.add_option("--seed", a->bootstrap.seed, "Bootstrap seed").needs(confidence).show_default();
  command.add_flag("--json", a->json, "JSON in sacreBLEU's format on standard output");
  command.on_parsed([=, &action] { action = [=] { return score(*a); }; });
}

}  // namespace weft
