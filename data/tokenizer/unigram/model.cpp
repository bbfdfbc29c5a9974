// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/unigram/model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/utf8.h"
#include "data/tokenizer/bpe/characters.h"
#include "data/tokenizer/pretokenizer_scan.h"

namespace weft {
namespace {

constexpr size_t kMaxUnigramPieceBytes = 1024;  // bounds the time that a hostile file can take for each byte of a text
constexpr double kMostScore = 1e9;              // sums stay finite for any text
constexpr double kUnknownPenalty = 10;
constexpr double kMostGrowth = 1 << 16;  // of a text, by steps that each make much of little

// The bytes that a piece stands for, where its blank signs are blanks.
std::string with_blanks(std::string_view piece) {
  std::string text;
  while (!piece.empty()) {
    const bool is_blank = piece.starts_with(kBlankSign);
    text += is_blank ? ' ' : piece.front();
    piece.remove_prefix(is_blank ? kBlankSign.size() : 1);
  }
  return text;
}

bool is_written_byte(std::string_view piece) {
  for (int b = 0; piece.starts_with("<0x") && b < 256; ++b) {
    if (piece == written_byte(static_cast<uint8_t>(b))) return true;
  }
  return false;
}

}  // namespace

UnigramModel::UnigramModel(UnigramVocabulary vocabulary, const SpecialTokens& specials, const std::string& where)
    : vocabulary_(std::move(vocabulary)) {
  const double growth = vocabulary_.rule.most_growth();
  require<DataError>(growth <= kMostGrowth, "{}: its steps can make a text {:.3g} times as long (at most {})", where,
                     growth, kMostGrowth);
  check_pieces(where);
  const auto special_of = specials_by_piece(specials, where);
  const auto& unk = specials.roles[static_cast<size_t>(SpecialRole::Unk)];
  require<DataError>(unk && *unk < this->vocabulary(), "{}: no piece is the unknown token", where);
  unk_ = *unk;
  byte_ids_.fill(-1);
  std::vector<PieceTrie::Piece> found_in_text;
  double worst = kMostScore;
  for (int32_t id = 0; id < this->vocabulary(); ++id) {
    const auto& [text, score] = vocabulary_.pieces[static_cast<size_t>(id)];
    const SpecialToken* special = special_of[static_cast<size_t>(id)];
    scores_.push_back(score);
    worst = std::min(worst, score);
    longest_ = std::max(longest_, text.size());
    if (special == nullptr || special->in_text) found_in_text.emplace_back(text, id);
    if (special == nullptr) bytes_.set(id, with_blanks(text));
  }
  unknown_score_ = worst - kUnknownPenalty;
  trie_ = PieceTrie(std::move(found_in_text));
  if (!vocabulary_.byte_fallback) return;
  for (int b = 0; b < 256; ++b) {
    const char byte = static_cast<char>(b);
    const int32_t id = trie_.find(written_byte(static_cast<uint8_t>(b)));
    byte_ids_[static_cast<size_t>(b)] = id;
    if (bytes_.knows(id)) bytes_.set(id, {&byte, 1});
  }
}

void UnigramModel::check_pieces(const std::string& where) const {
  const auto& pieces = vocabulary_.pieces;
  require<DataError>(!pieces.empty() && pieces.size() <= size_t{kMaxTokenId} + 1, "{}: {} pieces; expected 1 to {}",
                     where, pieces.size(), kMaxTokenId + 1);
  std::unordered_map<std::string_view, size_t> places;
  places.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto& [text, score] = pieces[i];
    require<DataError>(!text.empty() && text.size() <= kMaxUnigramPieceBytes && is_utf8(text),
                       "{}: piece {}: its text is empty, longer than {} bytes or no UTF-8", where, i,
                       kMaxUnigramPieceBytes);
    require<DataError>(std::abs(score) <= kMostScore, "{}: piece {}: its score is {}", where, i, score);
    const auto [other, is_new] = places.emplace(text, i);
    require<DataError>(is_new, "{}: piece {}: \"{}\" is piece {} already", where, i, text, other->second);
  }
}

std::vector<const SpecialToken*> UnigramModel::specials_by_piece(const SpecialTokens& specials,
                                                                 const std::string& where) const {
  std::vector<const SpecialToken*> by_piece(vocabulary_.pieces.size());
  for (const SpecialToken& token : specials.tokens) {
    if (token.id < 0 || token.id >= vocabulary()) continue;
    const std::string& text = vocabulary_.pieces[static_cast<size_t>(token.id)].text;
    require<DataError>(!vocabulary_.byte_fallback || token.in_text || !is_written_byte(text),
                       "{}: piece {} is \"{}\", a byte's, but also a special", where, token.id, text);
    require<DataError>(text == token.name, "{}: piece {} is \"{}\", but the special of this id \"{}\"", where, token.id,
                       text, token.name);
    by_piece[static_cast<size_t>(token.id)] = &token;
  }
  return by_piece;
}

size_t UnigramModel::own_beginning(std::string_view text) const {
  return vocabulary_.rule.puts_blank() && text.starts_with(' ') ? 1 : 0;
}

void UnigramModel::encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const {
  const TextRule& rule = vocabulary_.rule;
  const std::string changed = rule.changed(text);
  BestPath path(trie_, scores_, unknown_score_, longest_);
  rule.cut(changed, offset == 0, [&](std::string_view stretch) { encode_stretch(stretch, path, ids); });
}

void UnigramModel::encode_stretch(std::string_view stretch, BestPath& path, std::vector<int32_t>& ids) const {
  size_t known = 0;  // the end of the last piece; what follows is unknown
  path.split(stretch, [&](int32_t id, size_t begin, size_t end) {
    if (id == BestPath::kUnknown) return;
    append_unknown(stretch.substr(known, begin - known), ids);
    ids.push_back(id);
    known = end;
  });
  append_unknown(stretch.substr(known), ids);
}

// Unknown characters may together be a piece, if its score is lower than theirs.
void UnigramModel::append_unknown(std::string_view text, std::vector<int32_t>& ids) const {
  if (text.empty()) return;
  const int32_t piece = trie_.find(text);
  if (piece >= 0) return ids.push_back(piece);
  const auto id_of_byte = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
  if (std::ranges::any_of(text, [&](char byte) { return id_of_byte(byte) < 0; })) return ids.push_back(unk_);
  std::ranges::transform(text, std::back_inserter(ids), id_of_byte);
}

}  // namespace weft
