// SPDX-License-Identifier: Apache-2.0
#include "metrics/perplexity.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace weft {

void PerplexitySums::add(double batch_nll, int64_t batch_tokens) {
  nll += batch_nll;
  tokens += batch_tokens;
}

void PerplexitySums::add(const PerplexitySums& other) {
  nll += other.nll;
  tokens += other.tokens;
  words += other.words;
  bytes += other.bytes;
}

double PerplexityReport::nll_per_token() const { return sums.nll / static_cast<double>(sums.tokens); }
double PerplexityReport::token_perplexity() const { return std::exp(nll_per_token()); }
double PerplexityReport::word_perplexity() const { return std::exp(sums.nll / static_cast<double>(sums.words)); }
double PerplexityReport::bits_per_byte() const { return sums.nll / (static_cast<double>(sums.bytes) * std::log(2.0)); }

std::string PerplexityReport::format() const {
  std::string line = fmt::format("perplexity {:.4f} per token (base e, nll {:.6f} over {} tokens)", token_perplexity(),
                                 nll_per_token(), sums.tokens);
  if (sums.words > 0) line += fmt::format(", {:.6g} per word ({} words)", word_perplexity(), sums.words);
  if (sums.bytes > 0) line += fmt::format(", {:.4f} bits per byte ({} bytes)", bits_per_byte(), sums.bytes);
  line += protocol.context > 0 ? fmt::format(", context {}, stride {}", protocol.context, protocol.stride)
                               : std::string(", whole sentences");
  return line + (protocol.bos_fed ? ", BOS fed" : ", no BOS") +
         (protocol.eos_scored ? ", EOS scored" : ", EOS not scored") +
         (protocol.documents_apart ? ", documents apart" : "");
}

PerplexityReport perplexity_report(const PerplexitySums& sums, const PerplexityProtocol& protocol) {
  if (sums.tokens <= 0) {
    throw DataError("perplexity: there is no token to score", "the split is empty, or holds texts of one token only");
  }
  return {.sums = sums, .protocol = protocol};
}

void to_json(nlohmann::json& json, const PerplexityReport& report) {
  const auto figure = [](bool counted, double value) {
    return counted && std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
  };
  const PerplexitySums& sums = report.sums;
  json = {{"name", "perplexity"},
          {"base", "e"},
          {"nll", figure(true, sums.nll)},
          {"nll_per_token", figure(true, report.nll_per_token())},
          {"perplexity", figure(true, report.token_perplexity())},
          {"word_perplexity", figure(sums.words > 0, report.word_perplexity())},
          {"bits_per_byte", figure(sums.bytes > 0, report.bits_per_byte())},
          {"tokens", sums.tokens},
          {"words", sums.words},
          {"bytes", sums.bytes},
          {"context", report.protocol.context},
          {"stride", report.protocol.stride},
          {"bos_fed", report.protocol.bos_fed},
          {"eos_scored", report.protocol.eos_scored},
          {"documents_apart", report.protocol.documents_apart}};
}

}  // namespace weft
