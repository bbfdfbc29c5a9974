// SPDX-License-Identifier: Apache-2.0
#include "metrics/file_scores.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/text/text_input.h"
#include "data/text/unicode_properties.h"
#include "metrics/text_passes.h"

namespace weft {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kStandardInput = "-";

std::string without_end_space(std::string_view line) {
  const auto is_plain = [](char c) { return c > ' ' && c < '\x7f'; };
  if (line.empty() || is_plain(line.back())) return std::string(line);
  // Only an end that may be white space is decoded, so that bytes that are not UTF-8 stay as they are.
  size_t end = line.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (static_cast<uint8_t>(line[begin]) & 0xC0) == 0x80) --begin;
    const std::u32string last = decode_utf8(line.substr(begin, end - begin));
    if (last.size() != 1 || !(character_properties(last[0]) & kSpace)) break;
    end = begin;
  }
  return std::string(line.substr(0, end));
}

Lines read_lines(const fs::path& path) {
  TextInput input(path == kStandardInput ? "/dev/stdin" : path);
  Lines lines;
  for (std::string_view line; input.next_line(line);) lines.push_back(without_end_space(line));
  require<DataError>(!lines.empty(), "{} has no line: there is nothing to score", path.string());
  return lines;
}

void check_same_lines(const fs::path& a, const Lines& lines_a, const fs::path& b, const Lines& lines_b) {
  if (lines_a.size() == lines_b.size()) return;
  throw DataError(fmt::format("{} has {} lines, {} has {}", a.string(), lines_a.size(), b.string(), lines_b.size()),
                  "line i of every file must belong to sentence i");
}

void check_files(const FileScoreOptions& options) {
  std::vector<fs::path> all = options.hypotheses;
  all.insert(all.end(), options.references.begin(), options.references.end());
  if (std::ranges::count(all, fs::path(kStandardInput)) > 1) {
    throw ConfigError("standard input is asked for twice", "name a file for all but one");
  }
  if (options.references.empty()) throw ConfigError("there is no reference", "give --reference FILE");
}

MetricScores score_systems(const Metric& metric, const std::vector<Lines>& systems,
                           const std::vector<Lines>& references, const std::optional<BootstrapConfig>& bootstrap) {
  SignatureFields more;
  if (bootstrap) {
    more = {{"bs", std::to_string(bootstrap->samples)}, {"seed", std::to_string(bootstrap->seed)}};
  }
  MetricScores scores{.name = metric.name(), .signature = signature_fields(metric, references.size(), more)};
  std::vector<double> baseline;
  for (const Lines& hypotheses : systems) {
    const LineStatistics statistics = corpus_statistics(metric, hypotheses, references);
    const std::vector<double> sums = statistics.sums();
    SystemScore system{.score = metric.score(sums), .details = metric.details(sums)};
    if (bootstrap) {
      std::vector<double> samples = bootstrap_scores(metric, statistics, *bootstrap);
      if (!scores.systems.empty()) {
        system.p_value = paired_p_value(baseline, samples, system.score - scores.systems[0].score);
      } else {
        baseline = samples;
      }
      system.interval = confidence_interval(std::move(samples));
    }
    scores.systems.push_back(std::move(system));
  }
  return scores;
}

}  // namespace

FileScores score_files(const FileScoreOptions& options) {
  check_files(options);
  std::vector<Lines> references, systems;
  FileScores scores{.paired = options.bootstrap.has_value() && options.hypotheses.size() > 1};
  for (const fs::path& path : options.references) {
    references.push_back(read_lines(path));
    check_same_lines(options.references[0], references[0], path, references.back());
  }
  for (const fs::path& path : options.hypotheses) {
    systems.push_back(read_lines(path));
    check_same_lines(path, systems.back(), options.references[0], references[0]);
    scores.systems.push_back(path == kStandardInput ? "standard input" : path.string());
  }
  std::set<std::string> names;
  for (const auto& metric : options.metrics) {
    if (!names.insert(metric->name()).second) throw ConfigError(metric->name() + " is asked for twice");
    scores.metrics.push_back(score_systems(*metric, systems, references, options.bootstrap));
    for (size_t s = 0; s < systems.size(); ++s) {
      const std::string warning = metric->warning(systems[s]);
      if (!warning.empty()) scores.warnings.push_back(scores.systems[s] + ": " + warning);
    }
  }
  return scores;
}

}  // namespace weft
