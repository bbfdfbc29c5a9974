// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "job/loaded_model.h"

namespace weft {

// A beginning and its possible endings, one of which is right.
struct ChoiceQuestion {
  std::string context;
  std::vector<std::string> endings;
  size_t right = 0;
};

// Reads one JSON object per line with "ctx", "endings" and "label", as in HellaSwag (Zellers et al. 2019); the file may
// be gzipped. DataError names a line that is no such object.
std::vector<ChoiceQuestion> read_choice_questions(const fs::path& path);

// The ending that a model finds likeliest, by three measures.
struct Choices {
  size_t by_sum = 0;    // by log-probability
  size_t by_token = 0;  // by log-probability per token
  size_t by_byte = 0;   // by log-probability per byte
};

struct ChoiceReport {
  int64_t questions = 0;
  int64_t right_by_sum = 0, right_by_token = 0, right_by_byte = 0;
  std::vector<Choices> chosen;  // one for each question

  double accuracy(int64_t right) const { return static_cast<double>(right) / static_cast<double>(questions); }
  // "accuracy 0.2955 +- 0.0046 (likeliest ending), ..." with standard errors of a mean
  std::string format() const;
};
void to_json(nlohmann::ordered_json& json, const ChoiceReport& report);

// Scores every ending after its context, with a space between them that belongs to the ending. DataError if an ending
// is longer than the model's positions. Collective; every rank returns the same report.
ChoiceReport answer_choices(const LoadedModel& loaded, const std::vector<ChoiceQuestion>& questions);

}  // namespace weft
