#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/search/config.h"
#include "evaluate/search/next_token_model.h"

namespace weft {

// One text to continue or sentence to translate.
struct SearchInput {
  int64_t id = 0;               // its random stream: samples depend on (seed, id, sample, position) and nothing else
  std::vector<int32_t> prompt;  // what the decoder is fed first: a start token, or a text to continue; not empty
  std::optional<int64_t> source_length;  // tokens of the source; none for language models. 0 gives an empty text.
};

// The tokens that search treats specially.
struct SearchTokens {
  std::optional<int32_t> end;       // ends a text; none: texts run to their maximal length
  std::vector<int32_t> suppressed;  // never generated (start, padding); they keep their share of the probability
};

enum class Ending {
  EndToken,
  MaxLength,    // cut
  Blocked,      // every token was blocked (n-gram rule, suppressed, minimal length)
  EmptySource,  // there was nothing to translate
};
template <>
struct EnumNames<Ending> {
  static constexpr auto kNames =
      std::to_array<std::pair<std::string_view, Ending>>({{"end", Ending::EndToken},
                                                          {"max_length", Ending::MaxLength},
                                                          {"blocked", Ending::Blocked},
                                                          {"empty_source", Ending::EmptySource}});
};

struct Hypothesis {
  std::vector<int32_t> tokens;  // without prompt and end token
  double log_probability = 0;   // natural, of the tokens and the end token, under the model's full distribution
  double score = 0;             // length_normalized()
  Ending ending = Ending::EndToken;
};
void to_json(nlohmann::json& json, const Hypothesis& hypothesis);

// Texts of one input, the best first (samples: in the order of their numbers); n_best at most.
using NBest = std::vector<Hypothesis>;

// Decodes one batch: row i of the model belongs to inputs[i]. Inputs with an empty source are not allowed here.
std::vector<NBest> search_batch(NextTokenModel& model, std::span<const SearchInput> inputs, const SearchConfig& config,
                                const SearchTokens& tokens);

// Decodes everything: sorts by length, cuts into batches by the limits of `config`, asks `make_model` for each, and
// returns results in the order of the inputs. `on_progress`, if given, hears after each batch how many are done.
std::vector<NBest> search(std::span<const SearchInput> inputs, const ModelFactory& make_model,
                          const SearchConfig& config, const SearchTokens& tokens,
                          const std::function<void(int64_t)>& on_progress = {});

}  // namespace weft
