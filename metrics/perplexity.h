// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace weft {

// How a perplexity was measured; part of every report, since the figure means nothing without it.
struct PerplexityProtocol {
  int64_t context = 0;           // the most tokens that a window feeds; 0: whole sentences
  int64_t stride = 0;            // 0: whole sentences
  bool bos_fed = false;          // a start token stands before the first token, which then has a prediction too
  bool eos_scored = false;       // end-of-text tokens count as targets
  bool documents_apart = false;  // nothing is predicted from another document (data.document_mask)
};

// Sums of negative log-likelihood (natural logarithm) in double. Ranks can add their sums together; apart from the
// rounding of a double sum, the result does not depend on how targets are divided into batches or among ranks.
struct PerplexitySums {
  double nll = 0;
  int64_t tokens = 0;  // targets scored
  int64_t words = 0;   // words in the text that the targets encode; 0 if not counted
  int64_t bytes = 0;   // bytes of that text in UTF-8; 0 if not counted

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

  // "perplexity 26.5698 per token (base e, nll 3.279775 over 1000 tokens), 81.1648 per word (746 words), 1.0999 bits
  // per byte (4302 bytes), context 1024, stride 512, no BOS, EOS scored"
  std::string format() const;
};
// Throws DataError if no token was scored.
PerplexityReport perplexity_report(const PerplexitySums& sums, const PerplexityProtocol& protocol);
// Figures that were not counted, or are too large for a double, are null.
void to_json(nlohmann::json& json, const PerplexityReport& report);

}  // namespace weft
