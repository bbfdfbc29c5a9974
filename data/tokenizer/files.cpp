// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/files.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "data/tokenizer/bpe/model.h"
#include "data/tokenizer/bpe/visible.h"
#include "data/tokenizer/formats/base64.h"
#include "data/tokenizer/formats/json.h"
#include "data/tokenizer/formats/sentencepiece.h"

namespace weft {

namespace {

// The lines of a file with their numbers, from 1; "\n" or "\r\n" ends them.
template <class Line>
void for_each_line(std::string_view text, Line&& line) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    if (!content.empty() && content.back() == '\r') content.remove_suffix(1);
    line(content, number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// A rank file that OpenAI published: the pattern that cuts text before its ranks apply, and tokens that it lacks.
struct PublishedRanks {
  size_t count;
  int32_t highest;
  std::string_view pattern;
  std::vector<SpecialToken> specials;
};

const PublishedRanks* published_ranks(const BpeVocabulary& vocabulary) {
  static const std::vector<PublishedRanks> known = {
      {50256, 50255, "gpt2", {{"<|endoftext|>", 50256}}},  // r50k_base, of GPT-2
      {50280, 50280, "gpt2", {{"<|endoftext|>", 50256}}},  // p50k_base: runs of blanks have the ids after the special
      {100256,
       100255,
       "gpt4",
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},                                                     // cl100k_base
      {199998, 199997, "o200k", {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}}  // o200k_base
  };
  const auto is_it = [&](const PublishedRanks& ranks) {
    return ranks.count == vocabulary.tokens.size() && ranks.highest == vocabulary.tokens.back().second;
  };
  const auto found = std::ranges::find_if(known, is_it);
  return found == known.end() ? nullptr : &*found;
}

// Some files list the special that ends a text as the last rank. No text is encoded as this token.
void take_out_end_token(BpeVocabulary& vocabulary, SpecialTokens& specials) {
  const auto& [bytes, rank] = vocabulary.tokens.back();
  if (bytes != "<|endoftext|>") return;
  specials.tokens.push_back({bytes, rank});
  vocabulary.tokens.pop_back();
}

void fit_published(const std::string& where, BpeVocabulary& vocabulary, SpecialTokens& specials) {
  const PublishedRanks* published = published_ranks(vocabulary);
  if (published != nullptr) specials.tokens = published->specials;
  if (!vocabulary.pattern.empty()) return;
  if (published == nullptr) {
    throw ConfigError(
        fmt::format("tokenizer: {} has {} ranks up to {}, which is no file that OpenAI published: how it "
                    "splits text must be said",
                    where, vocabulary.tokens.size(), vocabulary.tokens.back().second),
        "set `pattern` to the one that the file was made with: gpt2, gpt4, o200k, none or a regular expression");
  }
  vocabulary.pattern = published->pattern;
}

VisibleIds read_vocab_json(const fs::path& path) {
  const std::string where = path.string();
  const TokenizerJson json = parse_json(read_file(path), where);
  require<DataError>(json.is_object(), "{}: expected an object of token: id", where);
  return visible_ids(json, where);
}

std::vector<VisibleMerge> read_merges_txt(const fs::path& path) {
  std::vector<VisibleMerge> merges;
  for_each_line(read_file(path), [&](std::string_view line, size_t number) {
    if (line.empty() || (number == 1 && line.starts_with("#version"))) return;
    merges.push_back(visible_merge(line, fmt::format("{}:{}", path.string(), number)));
  });
  return merges;
}

}  // namespace

TokenizerParts read_gpt2(const fs::path& vocab_json, const fs::path& merges_txt) {
  return parts_of_visible(read_vocab_json(vocab_json), read_merges_txt(merges_txt), {.pattern = "gpt2"},
                          vocab_json.string(), merges_txt.string());
}

TokenizerParts read_sentencepiece(const fs::path& model) {
  return parts_of_sentencepiece(read_file(model), model.string());
}

TokenizerParts read_tiktoken(const fs::path& ranks, std::string_view pattern) {
  const std::string where = ranks.string();
  BpeVocabulary vocabulary;
  vocabulary.rule = BpeVocabulary::Rule::Ranks;
  vocabulary.pattern = pattern;
  for_each_line(read_file(ranks), [&](std::string_view line, size_t number) {
    if (line.empty()) return;
    const std::string at = fmt::format("{}:{}", where, number);
    const size_t space = line.find(' ');
    require<DataError>(space != std::string_view::npos, "{}: expected base64, a space and a rank", at);
    auto bytes = read_base64(line.substr(0, space));
    require<DataError>(bytes && !bytes->empty(), "{}: \"{}\" is not base64", at,
                       line.substr(0, std::min<size_t>(space, 60)));
    int32_t rank = -1;
    const auto [end, error] = std::from_chars(line.data() + space + 1, line.data() + line.size(), rank);
    require<DataError>(error == std::errc{} && end == line.data() + line.size() && rank >= 0 && rank <= kMaxTokenId,
                       "{}: \"{}\" is not a rank of 0 to {}", at, line.substr(space + 1, 60), kMaxTokenId);
    vocabulary.tokens.emplace_back(std::move(*bytes), rank);
  });
  require<DataError>(!vocabulary.tokens.empty(), "{}: no ranks", where);
  std::sort(vocabulary.tokens.begin(), vocabulary.tokens.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  SpecialTokens specials;
  take_out_end_token(vocabulary, specials);
  find_byte_ids(vocabulary, where);
  fit_published(where, vocabulary, specials);
  auto model = std::make_unique<const BpeModel>(std::move(vocabulary), where);
  set_published_roles(specials);
  return {std::move(model), std::move(specials)};
}

}  // namespace weft
