// SPDX-License-Identifier: Apache-2.0
#include "evaluate/alignment.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"

namespace weft {
namespace {

// A translation's tokens, as the decoder has read them behind its start token.
std::span<const int32_t> translation_of(const AttentionMaps& maps) { return std::span(maps.text.ids).subspan(1); }

// The row of a map that aligns token j of a translation. The last token is read by no row if it took the last position.
int64_t row_of(int64_t j, AlignedToken token) { return token == AlignedToken::Predicted ? j : j + 1; }

double score_of(const AttentionMap& map, const AlignmentHead& head, const std::vector<double>& importance,
                int64_t translation) {
  const std::span<const float> weights = map.head(head.head);
  double sum = 0;
  for (int64_t j = 0; j < translation && row_of(j, head.token) < map.queries; ++j) {
    const double* const depends = &importance[j * map.keys];
    const float* const looks = &weights[row_of(j, head.token) * map.keys];
    double seen = 0, all = 0;
    for (int64_t i = 0; i < map.keys; ++i) seen += looks[i] * depends[i], all += depends[i];
    if (all > 0) sum += seen / all;
  }
  return translation > 0 ? sum / static_cast<double>(translation) : 0;
}

const AttentionMap& cross_map(const AttentionMaps& maps, const AlignmentHead& head) {
  for (const AttentionMap& map : maps.maps) {
    if (map.kind == AttentionKind::Cross && map.layer == head.layer && head.head < map.heads) return map;
  }
  throw ConfigError(fmt::format("the model has no head {} of cross-attention in layer {}", head.head, head.layer),
                    "layers and heads are counted from 0");
}

bool is_blank_byte(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

std::string text_of(const AlignmentHead& head) {
  return fmt::format("{}:{}:{}", head.layer, head.head, enum_name(head.token));
}

AlignmentHead alignment_head(const std::string& text) {
  for (const auto& [name, token] : EnumNames<AlignedToken>::kNames) {
    AlignmentHead head{.token = token};
    const char *at = text.data(), *const end = at + text.size();
    const auto layer = std::from_chars(at, end, head.layer);
    if (layer.ec != std::errc() || layer.ptr == end || *layer.ptr != ':') break;
    const auto number = std::from_chars(layer.ptr + 1, end, head.head);
    if (number.ec != std::errc() || head.layer < 0 || head.head < 0) break;
    if (std::string_view(number.ptr, end) == fmt::format(":{}", name)) return head;
  }
  throw ConfigError(fmt::format("'{}' is no head of cross-attention", text),
                    "write LAYER:HEAD:predicted or LAYER:HEAD:read, counted from 0, as weft attention names it");
}

std::vector<double> source_importance(const TextGenerator& generator, const std::vector<int32_t>& source,
                                      const std::vector<int32_t>& translation) {
  std::vector<size_t> left_out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (!generator.source_tokenizer.is_special(source[i])) left_out.push_back(i);
  }
  std::vector<double> importance(translation.size() * source.size());
  // A translation depends on all of a source of one token.
  if (left_out.size() == 1) {
    for (size_t j = 0; j < translation.size(); ++j) importance[j * source.size() + left_out[0]] = 1;
    return importance;
  }
  Sentences sentences{.sources = {source}};
  for (const size_t i : left_out) {
    std::vector<int32_t>& shorter = sentences.sources.emplace_back(source);
    shorter.erase(shorter.begin() + static_cast<ptrdiff_t>(i));
  }
  std::vector<int32_t> forced = translation;
  forced.resize(std::min(forced.size(), static_cast<size_t>(generator.job.model.max_length - 1)));
  sentences.prefixes.assign(sentences.sources.size(), forced);
  const auto scored = generator.translate(
      std::move(sentences),
      {.method = SearchMethod::Greedy, .max_length_factor = 0, .max_length_extra = std::ssize(forced)});
  const std::vector<double>& whole = scored[0].at(0).token_log_probabilities;
  for (size_t k = 0; k < left_out.size(); ++k) {
    const std::vector<double>& without = scored[k + 1].at(0).token_log_probabilities;
    for (size_t j = 0; j < std::min({forced.size(), whole.size(), without.size()}); ++j) {
      importance[j * source.size() + left_out[k]] = std::max(0.0, whole[j] - without[j]);
    }
  }
  return importance;
}

std::vector<ScoredHead> scored_heads(const AttentionMaps& maps, const std::vector<double>& importance) {
  std::vector<ScoredHead> all;
  const int64_t translation = std::ssize(translation_of(maps));
  for (const AttentionMap& map : maps.maps) {
    if (map.kind != AttentionKind::Cross) continue;
    for (int64_t h = 0; h < map.heads; ++h) {
      for (const auto& [name, token] : EnumNames<AlignedToken>::kNames) {
        const AlignmentHead head{.layer = map.layer, .head = h, .token = token};
        all.push_back({head, score_of(map, head, importance, translation)});
      }
    }
  }
  return all;
}

const ScoredHead& best_of(const std::vector<ScoredHead>& heads) {
  return *std::ranges::max_element(heads, {}, &ScoredHead::score);
}

std::string moses_line(const Links& links) {
  std::string line;
  for (const auto& [from, to] : links) line += fmt::format("{}{}-{}", line.empty() ? "" : " ", from, to);
  return line;
}

Words words_of(const Tokenizer& tokenizer, std::span<const int32_t> tokens) {
  const std::string text = tokenizer.decode(tokens);
  Words found;
  std::vector<int64_t> word_of_byte(text.size(), -1);
  for (size_t at = 0; at < text.size(); ++at) {
    if (is_blank_byte(text[at])) continue;
    if (at == 0 || is_blank_byte(text[at - 1])) found.words.emplace_back();
    found.words.back() += text[at];
    word_of_byte[at] = std::ssize(found.words) - 1;
  }
  // A token is the bytes that it adds to the text of those before it.
  size_t begin = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t end = std::min(text.size(), tokenizer.decode(tokens.first(i + 1)).size());
    int64_t word = -1;
    for (; begin < end && word < 0; ++begin) word = word_of_byte[begin];
    found.of_token.push_back(word);
    begin = std::max(begin, end);
  }
  return found;
}

Alignment aligned(const LoadedModel& loaded, const AttentionMaps& maps, const AlignmentHead& head) {
  const AttentionMap& map = cross_map(maps, head);
  const std::span<const int32_t> translation = translation_of(maps);
  Alignment found{.head = head,
                  .source = words_of(*loaded.source_tokenizer, maps.source.ids),
                  .translation = words_of(*loaded.target_tokenizer, translation)};
  std::set<std::pair<int64_t, int64_t>> words;
  for (int64_t j = 0; j < std::ssize(translation) && row_of(j, head.token) < map.queries; ++j) {
    const auto row = map.head(head.head).subspan(row_of(j, head.token) * map.keys, map.keys);
    const int64_t i = std::ranges::max_element(row) - row.begin();
    if (loaded.source_tokenizer->is_special(maps.source.ids[i])) continue;
    found.tokens.emplace_back(i, j);
    const int64_t from = found.source.of_token[i], to = found.translation.of_token[j];
    if (from >= 0 && to >= 0) words.emplace(from, to);
  }
  std::ranges::sort(found.tokens);
  found.words.assign(words.begin(), words.end());
  return found;
}

}  // namespace weft
