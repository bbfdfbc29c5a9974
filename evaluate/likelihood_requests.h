// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/likelihood.h"
#include "job/loaded_model.h"

namespace weft {

// How likely is a text: behind a context, or by itself from its beginning on.
struct LikelihoodRequest {
  std::string context;       // of a text by itself: empty
  std::string continuation;  // not empty
  bool whole = false;        // a text by itself
};

// One JSON object: "context" and "continuation", or "text". DataError beginning with `where` if it is something else.
LikelihoodRequest parse_likelihood_request(std::string_view line, const std::string& where);

struct LikelihoodAnswer {
  Likelihood likelihood;
  int64_t tokens = 0;  // that were scored
};
void to_json(nlohmann::ordered_json& json, const LikelihoodAnswer& answer);

// The tokens of a continuation are those that both texts together have behind those of the context alone, as in
// Eleuther's lm-evaluation-harness: a token that both share belongs to the continuation, and a blank between them to
// the text that it stands in. Where the context is empty, the special stands there that begins a document. A text by
// itself that is longer than the model's positions is scored in pieces of that length, each behind as much of the text
// as fits beside it. DataError naming the request by its place, counted from 1, if a continuation has no token or more
// than the model has positions. Collective; every rank returns the same answers.
std::vector<LikelihoodAnswer> answer_likelihoods(const LoadedModel& loaded,
                                                 const std::vector<LikelihoodRequest>& requests);

}  // namespace weft
