// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "metrics/metric.h"
#include "tests/support/source_dir.h"

namespace weft::test {

using Json = nlohmann::json;
using Lines = std::vector<std::string>;

// What sacreBLEU computed, in a file beside this one (make_metrics.py, make_scores.py).
class StoredScores {
 public:
  explicit StoredScores(const char* file) : json_(Json::parse(read_file(source_dir() / "tests/metrics" / file))) {}
  const Json& operator[](const char* key) const { return json_[key]; }

  // compare(hypotheses, references, expected) for what each configuration of a metric gives for each corpus; returns
  // how many these are.
  template <class Compare>
  int for_each(const char* metric, const Compare& compare) const {
    int compared = 0;
    for (const Json& corpus : json_["corpora"]) {
      const auto hypotheses = corpus["hypotheses"].get<Lines>();
      const auto references = corpus["references"].get<std::vector<Lines>>();
      for (const Json& expected : corpus[metric]) {
        SCOPED_TRACE(corpus["name"].get<std::string>() + " " + expected["config"].dump());
        compare(hypotheses, references, expected);
        if (testing::Test::HasFatalFailure()) return compared;
        ++compared;
      }
    }
    return compared;
  }

  // sacreBLEU's line or signature with our version in place of its own.
  std::string with_our_version(std::string line) const {
    const std::string theirs = "version:" + json_["sacrebleu"].get<std::string>();
    return line.replace(line.find(theirs), theirs.size(), std::string("version:") + kMetricsVersion);
  }

 private:
  Json json_;
};

}  // namespace weft::test
