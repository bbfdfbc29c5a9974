// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/bpe/model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/utf8.h"
#include "data/tokenizer/bpe/characters.h"
#include "data/tokenizer/bpe/visible.h"

namespace weft {

namespace {

constexpr size_t kCachedBytes = 16;
constexpr size_t kCachedIds = 11;
constexpr size_t kLongCachedBytes = 48;  // words of scripts whose letters have two and three bytes
constexpr size_t kLongCachedIds = 24;
constexpr size_t kPending = 1024;

struct ChunkKey {
  uint64_t low = 0;
  uint64_t high = 0;
  uint32_t size = 0;
  bool operator==(const ChunkKey&) const = default;

  size_t slot(int bits) const {
    const uint64_t mixed = (low ^ size) * 0x9E3779B97F4A7C15u ^ (high + 0x7F4A7C15u) * 0xC2B2AE3D27D4EB4Fu;
    return (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9u >> (64 - bits);
  }
};

// Sixteen bytes are loaded at once if the text has as many; bytes after the pretoken are masked off.
ChunkKey key_of(std::string_view pretoken, const char* text_end) {
  std::array<uint64_t, 2> words{};
  if (text_end - pretoken.data() >= static_cast<std::ptrdiff_t>(kCachedBytes)) {
    std::memcpy(words.data(), pretoken.data(), kCachedBytes);
    const size_t bits = pretoken.size() * 8;
    words[0] &= bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    words[1] &= bits >= 128 ? ~uint64_t{0} : bits > 64 ? (uint64_t{1} << (bits - 64)) - 1 : 0;
  } else {
    std::memcpy(words.data(), pretoken.data(), pretoken.size());
  }
  return {words[0], words[1], static_cast<uint32_t>(pretoken.size())};
}

struct alignas(64) CacheEntry {
  uint64_t low;
  uint64_t high;
  uint16_t size;  // 0: empty, since no pretoken has 0 bytes
  uint16_t count;
  std::array<int32_t, kCachedIds> ids;
};
static_assert(sizeof(CacheEntry) == 64);

struct alignas(64) LongCacheEntry {
  uint64_t hash;
  uint16_t size;  // 0: empty
  uint16_t count;
  std::array<char, kLongCachedBytes> bytes;
  std::array<int32_t, kLongCachedIds> ids;

  std::span<const int32_t> found() const { return std::span(ids).first(count); }
  bool holds(std::string_view pretoken, uint64_t hashed) const {
    return hash == hashed && size == pretoken.size() && std::memcmp(bytes.data(), pretoken.data(), size) == 0;
  }
};
static_assert(sizeof(LongCacheEntry) == 192);

// Direct-mapped by hash; the last pretoken with a hash is kept. The cache begins small and grows if a text has more
// different pretokens.
template <class Entry, int first_bits, int most_bits>
class PretokenCache {
 public:
  int bits() const { return bits_; }
  Entry& operator[](size_t slot) { return entries_[slot]; }
  void count_miss() {
    if (++misses_ < entries_.size() || bits_ == most_bits) return;
    misses_ = 0;
    bits_ += 2;
    entries_.assign(size_t{1} << bits_, Entry{});
  }

 private:
  int bits_ = first_bits;
  size_t misses_ = 0;  // misses since the cache last grew
  std::vector<Entry> entries_ = std::vector<Entry>(size_t{1} << first_bits);
};

}  // namespace

// The buffers of one call of encode_append(), which later calls reuse.
struct BpeScratch {
  PretokenCache<CacheEntry, 10, 16> cache;          // up to 4 MiB
  PretokenCache<LongCacheEntry, 8, 14> long_cache;  // up to 3 MiB
  std::vector<int32_t> symbols;
  PretokenMerger merger;

  CacheEntry& entry_of(const ChunkKey& key) { return cache[key.slot(cache.bits())]; }
  LongCacheEntry& long_entry_of(uint64_t hash) { return long_cache[hash >> (64 - long_cache.bits())]; }
};

BpeModel::BpeModel(BpeVocabulary vocabulary, const std::string& where)
    : vocabulary_(std::move(vocabulary)),
      bytes_(vocabulary_.checked_bytes(where)),
      first_cuts_(vocabulary_.first_patterns.begin(), vocabulary_.first_patterns.end()),
      pretokenizer_(vocabulary_.pattern),
      pairs_(vocabulary_.pairs_by_rank(), vocabulary_.rule == BpeVocabulary::Rule::Ranks) {
  std::ranges::transform(first_cuts_, vocabulary_.first_patterns.begin(), &Pretokenizer::pattern);
  vocabulary_.pattern = pretokenizer_.pattern();
  if (vocabulary_.characters) {
    characters_.insert(vocabulary_.characters->ids.begin(), vocabulary_.characters->ids.end());
    const uint32_t sign = utf8_at(kBlankSign.data(), kBlankSign.data() + kBlankSign.size()).code_point;
    if (const auto blank = characters_.find(' '); blank != characters_.end()) characters_.emplace(sign, blank->second);
  }
  if (vocabulary_.rule == BpeVocabulary::Rule::Ranks) {
    for (const auto& [bytes, id] : vocabulary_.tokens) whole_.emplace(bytes, id);
  } else if (vocabulary_.keeps_whole) {
    for (int32_t id = 0; id < bytes_.size(); ++id) {
      if (bytes_.knows(id)) whole_.emplace(bytes_[id], id);
    }
  }
}

BpeModel::~BpeModel() = default;

std::unique_ptr<BpeScratch> BpeModel::acquire() const {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<BpeScratch>();
  auto scratch = std::move(idle_.back());
  idle_.pop_back();
  return scratch;
}

void BpeModel::release(std::unique_ptr<BpeScratch> scratch) const {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(scratch));
}

void BpeModel::append_symbols(std::string_view pretoken, std::vector<int32_t>& symbols) const {
  const auto append_bytes = [&](std::string_view bytes) {
    for (const char byte : bytes) symbols.push_back(vocabulary_.byte_ids[static_cast<unsigned char>(byte)]);
  };
  if (!vocabulary_.characters) return append_bytes(pretoken);
  const char* const end = pretoken.data() + pretoken.size();
  for (const char* p = pretoken.data(); p < end;) {
    const Utf8Char c = utf8_at(p, end);
    const auto known = characters_.find(c.code_point);
    if (known != characters_.end()) {
      symbols.push_back(known->second);
    } else {
      append_bytes({p, c.length});
    }
    p += c.length;
  }
}

void BpeModel::encode_pretoken(std::string_view pretoken, BpeScratch& scratch) const {
  std::vector<int32_t>& symbols = scratch.symbols;
  if (!whole_.empty()) {
    const auto known = whole_.find(pretoken);
    if (known != whole_.end()) {
      symbols.assign(1, known->second);
      return;
    }
  }
  symbols.clear();
  append_symbols(pretoken, symbols);
  scratch.merger.merge(pairs_, symbols);
}

std::span<const int32_t> BpeModel::encode_long(std::string_view pretoken, BpeScratch& scratch) const {
  const bool cached = pretoken.size() <= kLongCachedBytes;
  const uint64_t hash = cached ? hash64(pretoken) : 0;
  if (cached) {
    if (const LongCacheEntry& entry = scratch.long_entry_of(hash); entry.holds(pretoken, hash)) return entry.found();
  }
  encode_pretoken(pretoken, scratch);
  const std::vector<int32_t>& symbols = scratch.symbols;
  if (!cached || symbols.size() > kLongCachedIds) return symbols;
  scratch.long_cache.count_miss();
  LongCacheEntry& entry = scratch.long_entry_of(hash);
  entry.hash = hash;
  entry.size = static_cast<uint16_t>(pretoken.size()), entry.count = static_cast<uint16_t>(symbols.size());
  std::ranges::copy(pretoken, entry.bytes.begin());
  std::ranges::copy(symbols, entry.ids.begin());
  return entry.found();
}

size_t BpeModel::safe_split(std::string_view text, size_t from) const {
  if (puts_blank()) return text.size();
  // Pieces of the first patterns may continue behind such a place, because the last one cuts there. What an expression
  // of the user's does there is not known.
  const bool is_known = std::ranges::none_of(
      first_cuts_, [](const Pretokenizer& cuts) { return cuts.rule() == Pretokenizer::Rule::Custom; });
  return is_known ? pretokenizer_.safe_split(text, from) : text.size();
}

template <class Sink>
void BpeModel::cut(std::string_view text, Sink& sink, size_t step) const {
  if (step == first_cuts_.size()) return pretokenizer_.for_each(text, sink);
  first_cuts_[step].for_each(text, [&](std::string_view piece) { cut(piece, sink, step + 1); });
}

bool BpeModel::puts_blank() const {
  return vocabulary_.characters && vocabulary_.characters->prefix != BlankPrefix::Never;
}

bool BpeModel::lacks_blank(std::string_view text, size_t offset) const {
  if (!puts_blank() || text.empty()) return false;
  const BlankPrefix prefix = vocabulary_.characters->prefix;
  if (prefix == BlankPrefix::IfMissingAtBegin && offset > 0) return false;
  return prefix == BlankPrefix::Always || blank_at(text.data(), text.data() + text.size()) == 0;
}

size_t BpeModel::own_beginning(std::string_view text) const { return puts_blank() && text.starts_with(' ') ? 1 : 0; }

void BpeModel::encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const {
  std::string changed;
  if (lacks_blank(text, offset)) {
    changed.append(1, ' ').append(text);
    text = changed;
  }
  const auto form = vocabulary_.normal_form;
  const bool is_normal = !form || (*form == NormalForm::Nfc && is_plainly_nfc(text));
  if (!is_normal) {
    changed = to_normal_form(text, *form);
    text = changed;
  }
  encode_ready(text, ids);
}

void BpeModel::encode_ready(std::string_view text, std::vector<int32_t>& ids) const {
  std::unique_ptr<BpeScratch> scratch = acquire();
  const char* const text_end = text.data() + text.size();
  std::array<int32_t, kPending> pending;
  size_t filled = 0;
  const auto flush = [&] {
    ids.insert(ids.end(), pending.begin(), pending.begin() + filled);
    filled = 0;
  };
  const auto encode_one = [&](std::string_view pretoken) {
    if (filled + kLongCachedIds > kPending) flush();
    if (pretoken.size() > kCachedBytes) {
      const std::span<const int32_t> found = encode_long(pretoken, *scratch);
      if (found.size() > kLongCachedIds) {
        flush();
        ids.insert(ids.end(), found.begin(), found.end());
      } else {
        std::ranges::copy(found, pending.begin() + filled);
        filled += found.size();
      }
      return;
    }
    const ChunkKey key = key_of(pretoken, text_end);
    CacheEntry* entry = &scratch->entry_of(key);
    if (entry->low != key.low || entry->high != key.high || entry->size != key.size) {
      encode_pretoken(pretoken, *scratch);
      const std::vector<int32_t>& symbols = scratch->symbols;
      if (symbols.size() > kCachedIds) {
        flush();
        ids.insert(ids.end(), symbols.begin(), symbols.end());
        return;
      }
      scratch->cache.count_miss();
      entry = &scratch->entry_of(key);
      entry->low = key.low;
      entry->high = key.high;
      entry->size = static_cast<uint16_t>(key.size);
      entry->count = static_cast<uint16_t>(symbols.size());
      std::copy(symbols.begin(), symbols.end(), entry->ids.begin());
    }
    // All slots are copied, not only the first `count`: a copy of fixed size takes a few instructions.
    std::memcpy(pending.data() + filled, entry->ids.data(), sizeof(entry->ids));
    filled += entry->count;
  };
  cut(text, encode_one);
  flush();
  release(std::move(scratch));
}

void BpeModel::hash_into(Hasher& hasher) const {
  const auto add = [&](const auto& value) { hasher.update(&value, sizeof(value)); };
  const auto add_text = [&](std::string_view text) {
    add(static_cast<uint64_t>(text.size()));
    hasher.update(text.data(), text.size());
  };
  // What older tokenizers lack is named, so that no two of these parts are taken for one another.
  if (vocabulary_.normal_form) add_text("normal_form"), add_text(enum_name(*vocabulary_.normal_form));
  for (const std::string& pattern : vocabulary_.first_patterns) add_text("first_pattern"), add_text(pattern);
  if (vocabulary_.characters) {
    add_text("characters"), add_text(enum_name(vocabulary_.characters->prefix));
    for (const auto& [code_point, id] : vocabulary_.characters->ids) add(code_point), add(id);
  }
  add_text(vocabulary_.pattern);
  add(static_cast<int32_t>(vocabulary_.rule));
  if (vocabulary_.rule == BpeVocabulary::Rule::Merges) {
    for (int32_t id : vocabulary_.byte_ids) add(id);
    add(static_cast<uint64_t>(vocabulary_.merges.size()));
    for (const BpeMerge& merge : vocabulary_.merges) add(merge);
    if (vocabulary_.keeps_whole) add(true);
    return;
  }
  add(static_cast<uint64_t>(vocabulary_.tokens.size()));
  for (const auto& [bytes, id] : vocabulary_.tokens) {
    add(id);
    add_text(bytes);
  }
}

std::string BpeModel::written(int32_t id) const {
  if (!vocabulary_.characters) return visible_bytes().write(bytes(id));
  const auto byte = std::ranges::find(vocabulary_.byte_ids, id);
  if (byte == vocabulary_.byte_ids.end()) return written_piece(bytes(id));
  return written_byte(static_cast<uint8_t>(byte - vocabulary_.byte_ids.begin()));
}

}  // namespace weft
