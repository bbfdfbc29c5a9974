// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset/dataset.h"
#include "data/tokenizer/tokenizer.h"
#include "generate/search/config.h"
#include "job/job.h"
#include "metrics/metric.h"
#include "model/transformer.h"

namespace weft {

struct TranslationReport {
  std::string metric;  // BLEU
  double score = 0;
  std::string signature;
  int64_t pairs = 0;
  double seconds = 0;
  bool given_up = false;  // give_up() returned true: there is no score
};

// Translates the validation split during training and scores the translations by the job's evaluation.metric. The
// figure equals that of `weft evaluate` with the same search, pairs and settings of the metric.
class TranslationEvaluation {
 public:
  // The job must outlive this object. Reads the references, which the split must hold (check_validation_text).
  TranslationEvaluation(const JobConfig& job, std::shared_ptr<const Dataset> valid,
                        std::shared_ptr<const Tokenizer> source, std::shared_ptr<const Tokenizer> target);
  // Collective over the model's mesh: replicas share the pairs, and every rank returns the same report. All ranks call
  // `give_up` before every second batch of pairs; it must return the same on all ranks.
  TranslationReport measure(Transformer& model, const std::function<bool()>& give_up = {}) const;

 private:
  const JobConfig& job_;
  SearchConfig search_;
  std::shared_ptr<const Metric> metric_;
  std::shared_ptr<const Dataset> valid_;
  std::shared_ptr<const Tokenizer> source_, target_;
  std::vector<std::vector<std::string>> references_;  // a single list: one reference per pair
};

}  // namespace weft
