#include "data/tokenizer/files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "data/tokenizer/bpe_model.h"
#include "data/tokenizer/json.h"

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

// GPT-2's files write each byte as a visible character: itself if Latin-1 has a visible one, else U+0100 and on.
class VisibleBytes {
 public:
  VisibleBytes() {
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; ++b) {
      const bool visible = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      byte_of_.emplace(visible ? b : next++, static_cast<char>(b));
    }
  }
  // The bytes that `text` stands for, or none if it holds another character.
  std::optional<std::string> read(std::string_view text) const {
    std::string bytes;
    const char* end = text.data() + text.size();
    for (const char* p = text.data(); p < end;) {
      const Utf8Char c = utf8_at(p, end);
      const auto byte = byte_of_.find(c.code_point);
      if (byte == byte_of_.end()) return std::nullopt;
      bytes += byte->second;
      p += c.length;
    }
    return bytes;
  }

 private:
  std::unordered_map<uint32_t, char> byte_of_;
};

using Ids = std::unordered_map<std::string, int32_t>;  // by visible text

Ids read_vocab_json(const fs::path& path) {
  const std::string where = path.string();
  const TokenizerJson json = parse_json(read_file(path), where);
  require<DataError>(json.is_object(), "{}: expected an object of token: id", where);
  Ids ids;
  ids.reserve(json.size());
  for (const auto& [token, id] : json.items()) {
    const std::string at = fmt::format("{}: \"{}\"", where, token);
    require<DataError>(!token.empty(), "{}: the token is empty", at);
    ids.emplace(token, json_id(id, at));
  }
  return ids;
}

int32_t id_of(const Ids& ids, const std::string& token, const std::string& at, const fs::path& vocab) {
  const auto found = ids.find(token);
  require<DataError>(found != ids.end(), "{}: \"{}\" is not in {}", at, token, vocab.string());
  return found->second;
}

std::vector<BpeMerge> read_merges_txt(const fs::path& path, const Ids& ids, const fs::path& vocab) {
  const VisibleBytes visible;
  std::vector<BpeMerge> merges;
  for_each_line(read_file(path), [&](std::string_view line, size_t number) {
    if (line.empty() || (number == 1 && line.starts_with("#version"))) return;
    const std::string at = fmt::format("{}:{}", path.string(), number);
    const size_t space = line.find(' ');
    const bool two = space != std::string_view::npos && space > 0 && space + 1 < line.size() &&
                     line.find(' ', space + 1) == std::string_view::npos;
    require<DataError>(two && visible.read(line.substr(0, space)) && visible.read(line.substr(space + 1)),
                       "{}: expected two tokens and one space between them", at);
    const std::string left(line.substr(0, space)), right(line.substr(space + 1));
    merges.push_back({id_of(ids, left, at, vocab), id_of(ids, right, at, vocab), id_of(ids, left + right, at, vocab)});
  });
  return merges;
}

constexpr auto kBase64 = [] {
  std::array<int8_t, 256> table{};
  table.fill(-1);
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kDigits.size(); ++i) table[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  return table;
}();

// RFC 4648 with padding, or none if it is not that.
std::optional<std::string> read_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i >= text.size() - padding;
    const int digit = is_padding ? 0 : kBase64[static_cast<unsigned char>(text[i])];
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (i % 4 != 3) continue;
    for (int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift & 0xFF);
    bits = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

// The specials that go with the rank files that OpenAI published, known by their number of ranks.
std::vector<SpecialToken> published_specials(size_t ranks) {
  if (ranks == 50256) return {{"<|endoftext|>", 50256}};
  if (ranks == 100256) {
    return {{"<|endoftext|>", 100257},
            {"<|fim_prefix|>", 100258},
            {"<|fim_middle|>", 100259},
            {"<|fim_suffix|>", 100260},
            {"<|endofprompt|>", 100276}};
  }
  return {};
}

// `<|endoftext|>` begins and ends documents in all of these files.
void set_published_roles(SpecialTokens& specials) {
  for (const auto& [name, id] : specials.tokens) {
    if (name != "<|endoftext|>") continue;
    specials.roles[static_cast<size_t>(SpecialRole::Bos)] = id;
    specials.roles[static_cast<size_t>(SpecialRole::Eos)] = id;
  }
}

}  // namespace

TokenizerParts read_gpt2(const fs::path& vocab_json, const fs::path& merges_txt) {
  const Ids ids = read_vocab_json(vocab_json);
  const std::string where = vocab_json.string();
  BpeVocabulary vocabulary;
  vocabulary.pattern = "gpt2";
  vocabulary.merges = read_merges_txt(merges_txt, ids, vocab_json);
  vocabulary.byte_ids.fill(-1);
  const VisibleBytes visible;
  for (const auto& [token, id] : ids) {
    const auto bytes = visible.read(token);
    if (bytes && bytes->size() == 1) vocabulary.byte_ids[static_cast<unsigned char>((*bytes)[0])] = id;
  }
  for (size_t b = 0; b < 256; ++b) {
    require<DataError>(vocabulary.byte_ids[b] >= 0, "{}: no token is the single byte {}", where, b);
  }
  auto model = std::make_unique<const BpeModel>(std::move(vocabulary), merges_txt.string());
  SpecialTokens specials;
  for (const auto& [token, id] : ids) {
    if (!model->knows(id)) specials.tokens.push_back({token, id});
  }
  std::sort(specials.tokens.begin(), specials.tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  const auto used = static_cast<size_t>(256 + model->parts().merges.size() + specials.tokens.size());
  require<DataError>(used == ids.size(), "{}: {} tokens, but 256 bytes, {} merges of {} and {} specials are {}", where,
                     ids.size(), model->parts().merges.size(), merges_txt.string(), specials.tokens.size(), used);
  set_published_roles(specials);
  return {std::move(model), std::move(specials)};
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
  find_byte_ids(vocabulary, where);
  SpecialTokens specials;
  specials.tokens = published_specials(vocabulary.tokens.size());
  auto model = std::make_unique<const BpeModel>(std::move(vocabulary), where);
  set_published_roles(specials);
  return {std::move(model), std::move(specials)};
}

}  // namespace weft
