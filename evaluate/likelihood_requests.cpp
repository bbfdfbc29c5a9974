// SPDX-License-Identifier: Apache-2.0
#include "evaluate/likelihood_requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "generate/text_generator.h"

namespace weft {
namespace {

using Ids = std::vector<int32_t>;

// The pieces of a text by itself, each with what stands before it.
std::vector<Continuation> pieces_of(const Ids& begin, const Ids& text, int64_t positions) {
  std::vector<Continuation> pieces;
  for (int64_t at = 0; at < std::ssize(text); at += positions) {
    const auto first = text.begin() + at, last = text.begin() + std::min(at + positions, std::ssize(text));
    const auto seen = text.begin() + std::max<int64_t>(0, at - positions);
    pieces.push_back({.context = at == 0 ? begin : Ids(seen, first), .tokens = Ids(first, last)});
  }
  return pieces;
}

class Encoder {
 public:
  explicit Encoder(const LoadedModel& loaded)
      : generator_(text_generator(loaded)), positions_(loaded.job.model.max_length) {}

  std::vector<Continuation> encode(const LikelihoodRequest& request) const {
    if (request.whole) return pieces_of(generator_.prompt(""), plain(request.continuation), positions_);
    if (request.context.empty()) return {{generator_.prompt(""), plain(request.continuation)}};
    const Ids context = generator_.prompt(request.context),
              whole = generator_.prompt(request.context + request.continuation);
    const auto behind = whole.begin() + std::min(std::ssize(context), std::ssize(whole));
    return {{Ids(whole.begin(), behind), Ids(behind, whole.end())}};
  }

 private:
  Ids plain(const std::string& text) const { return generator_.target_tokenizer.encode(text); }

  TextGenerator generator_;
  int64_t positions_;
};

}  // namespace

LikelihoodRequest parse_likelihood_request(std::string_view line, const std::string& where) {
  try {
    const nlohmann::json json = parse_json(line, where);
    LikelihoodRequest request{.whole = json.contains("text")};
    request.continuation = json.at(request.whole ? "text" : "continuation").get<std::string>();
    if (!request.whole) request.context = json.at("context").get<std::string>();
    if (!request.continuation.empty() && !(request.whole && json.contains("context"))) return request;
  } catch (const nlohmann::json::exception&) {
  }
  throw DataError(
      fmt::format("{}: no question about a likelihood", where),
      R"(expected {"context": "...", "continuation": "..."} or {"text": "..."}; only the context may be empty)");
}

void to_json(nlohmann::ordered_json& json, const LikelihoodAnswer& answer) {
  json = {{"log_probability", answer.likelihood.log_probability},
          {"greedy", answer.likelihood.greedy},
          {"tokens", answer.tokens}};
}

std::vector<LikelihoodAnswer> answer_likelihoods(const LoadedModel& loaded,
                                                 const std::vector<LikelihoodRequest>& requests) {
  const Encoder encoder(loaded);
  std::vector<Continuation> all;
  std::vector<size_t> ends;  // continuations, of all requests up to this one
  for (const LikelihoodRequest& request : requests) {
    for (Continuation& piece : encoder.encode(request)) {
      require<DataError>(!piece.tokens.empty(), "request {}: its continuation has no token of its own",
                         ends.size() + 1);
      require<DataError>(std::ssize(piece.tokens) <= loaded.job.model.max_length,
                         "request {}: its continuation has {} tokens, the model {} positions", ends.size() + 1,
                         piece.tokens.size(), loaded.job.model.max_length);
      all.push_back(std::move(piece));
    }
    ends.push_back(all.size());
  }
  const std::vector<Likelihood> found = likelihoods(*loaded.model, all);
  std::vector<LikelihoodAnswer> answers;
  size_t next = 0;
  for (const size_t end : ends) {
    LikelihoodAnswer& answer = answers.emplace_back();
    for (; next < end; ++next) {
      answer.likelihood.log_probability += found[next].log_probability;
      answer.likelihood.greedy = answer.likelihood.greedy && found[next].greedy;
      answer.tokens += std::ssize(all[next].tokens);
    }
  }
  return answers;
}

}  // namespace weft
