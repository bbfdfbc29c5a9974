#include "data/tokenizer/bpe_vocabulary.h"

#include <unordered_map>

#include "base/error.h"

namespace weft {

namespace {

constexpr size_t kMaxRankedBytes = 1024;

// Ids that are checked as they are given out.
class CheckedTokens {
 public:
  explicit CheckedTokens(const std::string& where) : where_(where) {}

  void add(int32_t id, std::string_view bytes, const std::string& what) {
    require<DataError>(id >= 0 && id <= kMaxTokenId, "{}: {}: id {} is outside [0, {}]", where_, what, id, kMaxTokenId);
    require<DataError>(!bytes.empty(), "{}: {}: the token is empty", where_, what);
    require<DataError>(bytes.size() <= kMaxTokenBytes, "{}: {}: a token of {} bytes (at most {})", where_, what,
                       bytes.size(), kMaxTokenBytes);
    require<DataError>(!tokens_.knows(id), "{}: {}: id {} is taken", where_, what, id);
    require<DataError>(tokens_.total() + bytes.size() <= kMaxVocabularyBytes, "{}: {}: all tokens exceed {} bytes",
                       where_, what, kMaxVocabularyBytes);
    tokens_.set(id, bytes);
  }
  const TokenBytes& tokens() const { return tokens_; }
  TokenBytes take() { return std::move(tokens_); }

 private:
  const std::string& where_;
  TokenBytes tokens_;
};

}  // namespace

void TokenBytes::set(int32_t id, std::string_view bytes) {
  const auto index = static_cast<size_t>(id);
  if (index >= ranges_.size()) ranges_.resize(index + 1);
  ranges_[index] = {text_.size(), bytes.size()};
  text_.append(bytes);
}

TokenBytes BpeVocabulary::checked_bytes(const std::string& where) const {
  CheckedTokens checked(where);
  if (rule == Rule::Ranks) {
    int32_t before = -1;
    std::unordered_map<std::string_view, int32_t> seen;
    for (const auto& [bytes, id] : tokens) {
      const std::string what = fmt::format("token {}", id);
      // Every split of every token is looked up: what is allowed of one token bounds the time that a file can take.
      require<DataError>(bytes.size() <= kMaxRankedBytes, "{}: {}: {} bytes (at most {})", where, what, bytes.size(),
                         kMaxRankedBytes);
      require<DataError>(id > before, "{}: {}: ids must ascend, but {} comes before it", where, what, before);
      checked.add(id, bytes, what);
      const auto [other, is_new] = seen.emplace(bytes, id);
      require<DataError>(is_new, "{}: {}: the same bytes as token {}", where, what, other->second);
      before = id;
    }
    return checked.take();
  }
  for (int b = 0; b < 256; ++b) {
    const char byte = static_cast<char>(b);
    checked.add(byte_ids[static_cast<size_t>(b)], {&byte, 1}, fmt::format("byte {}", b));
  }
  std::unordered_map<uint64_t, size_t> pairs;
  pairs.reserve(merges.size());
  std::string joined;
  for (size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right, id] = merges[i];
    const std::string what = fmt::format("merge {} ({} {} -> {})", i, left, right, id);
    for (int32_t part : {left, right}) {
      require<DataError>(checked.tokens().knows(part), "{}: {}: {} is neither a byte nor made by a merge before", where,
                         what, part);
    }
    const uint64_t pair = static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
    const auto [other, is_new] = pairs.emplace(pair, i);
    require<DataError>(is_new, "{}: {}: merge {} is of the same pair", where, what, other->second);
    joined.assign(checked.tokens()[left]);
    joined.append(checked.tokens()[right]);
    checked.add(id, joined, what);
  }
  return checked.take();
}

std::vector<BpeMerge> BpeVocabulary::pairs_by_rank() const {
  if (rule == Rule::Merges) return merges;
  std::unordered_map<std::string_view, int32_t> ids;
  ids.reserve(tokens.size());
  for (const auto& [bytes, id] : tokens) ids.emplace(bytes, id);
  std::vector<BpeMerge> pairs;
  for (const auto& [bytes, id] : tokens) {
    const std::string_view whole = bytes;
    for (size_t at = 1; at < whole.size(); ++at) {
      const auto left = ids.find(whole.substr(0, at));
      if (left == ids.end()) continue;
      const auto right = ids.find(whole.substr(at));
      if (right != ids.end()) pairs.push_back({left->second, right->second, id});
    }
  }
  return pairs;
}

void find_byte_ids(BpeVocabulary& vocabulary, const std::string& where) {
  vocabulary.byte_ids.fill(-1);
  for (const auto& [bytes, id] : vocabulary.tokens) {
    if (bytes.size() == 1) vocabulary.byte_ids[static_cast<unsigned char>(bytes[0])] = id;
  }
  for (size_t b = 0; b < 256; ++b) {
    require<DataError>(vocabulary.byte_ids[b] >= 0, "{}: no token is the single byte {}", where, b);
  }
}

}  // namespace weft
