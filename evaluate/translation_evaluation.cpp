// SPDX-License-Identifier: Apache-2.0
#include "evaluate/translation_evaluation.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/clock.h"
#include "evaluate/translation_scores.h"
#include "generate/one_line.h"
#include "generate/shared_translation.h"

namespace weft {
namespace {

SearchConfig search_of(const ValidationTranslation& config) {
  SearchConfig search;
  search.method = config.beam > 1 ? SearchMethod::Beam : SearchMethod::Greedy;
  search.beam = config.beam;
  return search;
}

int64_t pairs_of(const EvaluationConfig& config, int64_t all) {
  for (const int64_t most : {config.max_sequences, config.translation.max_pairs}) {
    if (most > 0) all = std::min(all, most);
  }
  return all;
}

}  // namespace

TranslationEvaluation::TranslationEvaluation(const JobConfig& job, std::shared_ptr<const Dataset> valid,
                                             std::shared_ptr<const Tokenizer> source,
                                             std::shared_ptr<const Tokenizer> target)
    : job_(job),
      search_(search_of(job.evaluation.translation)),
      metric_(job.evaluation.make_metric()),
      valid_(std::move(valid)),
      source_(std::move(source)),
      target_(std::move(target)),
      references_{read_references(*valid_, *target_, pairs_of(job.evaluation, valid_->num_pairs()))} {}

TranslationReport TranslationEvaluation::measure(Transformer& model, const std::function<bool()>& give_up) const {
  constexpr int64_t kBatchesBetweenQuestions = 2;
  const auto start = std::chrono::steady_clock::now();
  const TextGenerator generator{model, job_, *source_, *target_};
  Mesh& mesh = model.parameters().mesh();
  const auto pairs = std::ssize(references_[0]);
  const int64_t at_once = kBatchesBetweenQuestions * search_.batch_sentences * mesh.dp().size();
  TranslationReport report{.metric = metric_->name(), .pairs = pairs};
  std::vector<std::string> translations;
  for (int64_t first = 0; first < pairs; first += at_once) {
    report.given_up = give_up && give_up();
    if (report.given_up) return report;
    auto sources = read_sources(*valid_, first, std::min(pairs, first + at_once), job_.model.max_length);
    for (const NBest& best :
         translate_on_ranks(generator, {.sources = std::move(sources.rows), .first = first}, search_)) {
      translations.push_back(one_line(generator.text(best.at(0))));
    }
  }
  const CorpusScore found(metric_, translations, references_);
  // All ranks take rank 0's score, since all must decide the same from it.
  std::array<double, 1> score{mesh.world().rank() == 0 ? found.score() : 0};
  mesh.world().all_reduce_host(score, ReduceOp::Sum);
  report.score = score[0], report.signature = found.signature();
  report.seconds = seconds_since(start);
  return report;
}

}  // namespace weft
