// SPDX-License-Identifier: Apache-2.0
#include "pages/report.h"

#include "base/log.h"
#include "launch/commands.h"
#include "pages/page.h"
#include "parallel/session.h"

namespace weft {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;
  bool still = false;
};

ExitCode report(const ReportArguments& a) {
  const std::vector<fs::path> runs(a.runs.begin(), a.runs.end());
  const fs::path beside = runs.size() == 1 ? runs[0] / "report.html" : fs::path("report.html");
  const fs::path out = a.out.empty() ? beside : fs::path(a.out);
  require_replaceable(out);
  ReportOptions options{.threads = threads_alone()};
  if (a.still) options.drawing = Drawing::Pictures;
  write_page(out, report_page(runs, options));
  log_info("wrote {}; open it in a browser", out.string());
  return ExitCode::Done;
}

}  // namespace

void add_report_command(Command& app, Action& action) {
  Command command = app.add_command(
      "report",
      "Write a page about a run, or one that compares several: curves, texts, events, jobs. Needs no network.",
      Workers::OneProcess);
  command.footer(
      "  weft report runs/NAME\n"
      "  weft report runs/small runs/large --out compare.html\n"
      "The page is one file for a browser, light or dark, also on paper: loss, validation and scores over steps, "
      "tokens\n"
      "or time; learning rate, gradient norm, speed, memory and waiting; starts, saves, skips and rollbacks; texts of\n"
      "log.generations; where the runs' jobs differ; provenance. What a later attempt repeated is shown once.\n"
      "A run may still be training. With train.report it writes this page by itself, at each evaluation.");
  auto a = std::make_shared<ReportArguments>();
  command.add_option("runs", a->runs, "Run directories (runs/NAME), in the order in which the page lists them")
      .required()
      .type_name("RUN");
  command
      .add_option(
          "--out", a->out,
          "The file to write, instead of RUN/report.html (several runs: report.html). It replaces a page of weft alone")
      .type_name("FILE");
  command.add_flag("--still", a->still,
                   "Still pictures over steps, instead of curves that show their values under the mouse");
  command.on_parsed([=, &action] { action = [=] { return report(*a); }; });
}

}  // namespace weft
