#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A piece of a long token sequence as a language model sees it: tokens [begin, begin + length) are fed, and of their
// targets, tokens [begin + 1, begin + length], those from first_target on are scored.
struct ScoredWindow {
  int64_t begin = 0;
  int64_t length = 0;
  int64_t first_target = 0;  // index of a token in the sequence
  int64_t num_targets() const { return begin + length - first_target + 1; }
};

// Windows of at most `context` fed tokens, `stride` apart, that score each token but the first exactly once: the first
// window scores all its targets, every other one those that its predecessors did not reach (`stride` of them, the last
// perhaps fewer), so each of these sees context - stride + 1 tokens at least. Stride = context is the cheapest, stride
// 1 the most favourable figure. Throws ConfigError unless 1 <= stride <= context. Empty for fewer than two tokens.
std::vector<ScoredWindow> strided_windows(int64_t num_tokens, int64_t context, int64_t stride);

// How a perplexity was taken; part of every report, since the figure means nothing without it.
struct PerplexityProtocol {
  int64_t context = 0;      // tokens that a window feeds at most; 0: whole sentences
  int64_t stride = 0;       // 0: whole sentences
  bool bos_fed = false;     // a start token stands before the first token, which then has a prediction too
  bool eos_scored = false;  // end-of-text tokens count as targets
};

// Sums of negative log-likelihood (natural logarithm) in double. Plain counts, so that ranks can add theirs together;
// the result does not depend on how targets were cut into batches or ranks but for the rounding of a double sum.
struct PerplexitySums {
  double nll = 0;
  int64_t tokens = 0;  // targets scored
  int64_t words = 0;   // of the text that they encode; 0 where nobody counted
  int64_t bytes = 0;   // of that text in UTF-8; 0 where nobody counted

  void add(double batch_nll, int64_t batch_tokens);
  void add(const PerplexitySums& other);
};

struct PerplexityReport {
  PerplexitySums sums;
  PerplexityProtocol protocol;

  double nll_per_token() const;
  double token_perplexity() const;  // exp(nll / tokens)
  double word_perplexity() const;   // exp(nll / words): comparable across tokenizers
  double bits_per_byte() const;     // nll / (bytes ln 2): comparable across tokenizers and word counts

  // "perplexity 26.5698 per token (base e, nll 3.279775 over 1000 tokens), 81.2 per word, 1.1 bits per byte, context
  // 1024, stride 512, no BOS, EOS scored"
  std::string format() const;
};
// Throws DataError where no token was scored.
PerplexityReport perplexity_report(const PerplexitySums& sums, const PerplexityProtocol& protocol);
// Figures that nobody counted, or too large for a double, are null.
void to_json(nlohmann::json& json, const PerplexityReport& report);

// Runs of characters between Unicode white space.
int64_t count_words(std::string_view text);

}  // namespace weft
