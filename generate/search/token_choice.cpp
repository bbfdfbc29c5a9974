// SPDX-License-Identifier: Apache-2.0
#include "generate/search/token_choice.h"

#include <algorithm>
#include <array>

#include "kernels/ops/choose_tokens.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

using Ints = std::vector<int32_t>;

// The lists of all questions one after another, and the offset at which each list begins.
struct Lists {
  Ints begins{0}, tokens;
  void end_list() { begins.push_back(static_cast<int32_t>(tokens.size())); }
};

Lists repeated_of(std::span<const TokenQuestion> questions) {
  Lists lists;
  for (const TokenQuestion& question : questions) {
    lists.tokens.insert(lists.tokens.end(), question.repeated.begin(), question.repeated.end());
    lists.end_list();
  }
  return lists;
}

// If a token is forced, all others are blocked.
Lists blocked_of(std::span<const TokenQuestion> questions, int64_t vocabulary) {
  Lists lists;
  for (const TokenQuestion& question : questions) {
    if (!question.forced) lists.tokens.insert(lists.tokens.end(), question.blocked.begin(), question.blocked.end());
    for (int32_t token = 0; question.forced && token < vocabulary; ++token) {
      if (token != *question.forced) lists.tokens.push_back(token);
    }
    lists.end_list();
  }
  return lists;
}

// Checks on the host the fields that a kernel on a device cannot check.
void check(const TokenQuestion& question, const Tensor& logits) {
  require<InternalError>(question.row >= 0 && question.row < logits.rows(), "a question about row {} of {}",
                         question.row, logits);
  for (const Ints* list : {&question.blocked, &question.repeated}) {
    if (list->empty()) continue;
    require<InternalError>(list->front() >= 0 && list->back() < logits.columns(),
                           "a question about tokens {} to {} of {}", list->front(), list->back(), logits.columns());
  }
  const int32_t forced = question.forced.value_or(0);
  require<InternalError>(forced >= 0 && forced < logits.columns(), "token {} is forced, of {}", forced,
                         logits.columns());
}

// Uploads the rules of all questions in one copy.
TextRules upload_rules(Context& context, std::span<const TokenQuestion> questions, int64_t vocabulary) {
  Ints rows;
  for (const TokenQuestion& question : questions) rows.push_back(question.row);
  const Lists blocked = blocked_of(questions, vocabulary);
  const Lists repeated = repeated_of(questions);
  const std::array<const Ints*, 5> parts{&rows, &blocked.begins, &repeated.begins, &blocked.tokens, &repeated.tokens};
  Ints all;
  for (const Ints* part : parts) {
    all.insert(all.end(), part->begin(), part->end());
  }
  const Tensor device = to_device(context, std::span<const int32_t>(all));
  int64_t taken = 0;
  const auto take = [&](const Ints& part) {
    const int64_t begin = taken;
    taken += static_cast<int64_t>(part.size());
    return device.slice(begin, taken);
  };
  TextRules rules;
  rules.rows = take(rows);
  rules.blocked_begins = take(blocked.begins), rules.repeated_begins = take(repeated.begins);
  rules.blocked = take(blocked.tokens), rules.repeated = take(repeated.tokens);
  return rules;
}

Tensor upload_uniforms(Context& context, std::span<const TokenQuestion> questions) {
  std::vector<double> uniforms;
  for (const TokenQuestion& question : questions) uniforms.push_back(question.uniform);
  return to_device(context, std::span<const double>(uniforms));
}

TokenAnswer answer_of(std::span<const double> out) {
  TokenAnswer answer{.log_sum = out[0], .log_mass = out[1]};
  for (out = out.subspan(2); !out.empty() && out[0] >= 0; out = out.subspan(3)) {
    answer.chosen.push_back({.token = static_cast<int32_t>(out[0]),
                             .score = static_cast<float>(out[1]),
                             .logit = static_cast<float>(out[2])});
  }
  return answer;
}

}  // namespace

std::vector<TokenAnswer> ask(Context& context, const Tensor& logits, std::span<const TokenQuestion> questions,
                             const TokenChoice& choice) {
  for (const TokenQuestion& question : questions) check(question, logits);
  const auto texts = static_cast<int64_t>(questions.size());
  const int64_t count = std::min(choice.count, logits.columns()), columns = 2 + 3 * count;
  const Tensor out = context.empty({texts, columns}, DType::F64);
  choose_tokens(context, {.logits = logits,
                          .rules = upload_rules(context, questions, logits.columns()),
                          .count = count,
                          .log_probabilities = choice.log_probabilities,
                          .penalty = choice.penalty,
                          .scale = choice.scale,
                          .masses = choice.masses,
                          .uniforms = choice.draw ? upload_uniforms(context, questions) : Tensor(),
                          .out = out});
  std::vector<double> found(static_cast<size_t>(out.elements()));
  download(context, out, std::span(found));
  std::vector<TokenAnswer> answers;
  for (int64_t text = 0; text < texts; ++text) {
    answers.push_back(answer_of(std::span(found).subspan(text * columns, columns)));
  }
  return answers;
}

}  // namespace weft
