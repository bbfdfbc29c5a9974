// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/tokenizer/bpe/merge.h"
#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/pretokenizer.h"

namespace weft {

struct BpeScratch;

// BPE of bytes or characters: pretokens of the pattern, each merged on its own. Pretokens of up to 16 and of up to 48
// bytes are remembered in two small direct-mapped caches, so that most of a text costs one look-up a pretoken.
class BpeModel : public TokenizerModel {
 public:
  // Checks the vocabulary; error messages begin with `where`.
  BpeModel(BpeVocabulary vocabulary, const std::string& where);
  ~BpeModel() override;

  std::string_view kind() const override { return "bpe"; }
  void encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const override;
  size_t safe_split(std::string_view text, size_t from) const override;
  size_t own_beginning(std::string_view text) const override;
  int64_t vocabulary() const override { return bytes_.size(); }
  bool knows(int32_t id) const override { return bytes_.knows(id); }
  std::string_view bytes(int32_t id) const override { return bytes_[id]; }
  std::string written(int32_t id) const override;
  void hash_into(Hasher& hasher) const override;
  void write_json(nlohmann::json& json) const override;
  // Reads the JSON that write_json() writes. DataError beginning with `where`.
  static std::unique_ptr<const BpeModel> read_json(const nlohmann::json& json, const std::string& where);

  const BpeVocabulary& parts() const { return vocabulary_; }

 private:
  bool puts_blank() const;  // before some texts
  bool lacks_blank(std::string_view text, size_t offset) const;
  // Of a text that is as the model cuts it: in the normal form, with a blank before it.
  void encode_ready(std::string_view text, std::vector<int32_t>& ids) const;
  // Calls sink(pretoken) for each piece that the patterns from `step` on make of `text`.
  template <class Sink>
  void cut(std::string_view text, Sink& sink, size_t step = 0) const;
  void append_symbols(std::string_view pretoken, std::vector<int32_t>& symbols) const;
  std::unique_ptr<BpeScratch> acquire() const;
  void release(std::unique_ptr<BpeScratch> scratch) const;
  void encode_pretoken(std::string_view pretoken, BpeScratch& scratch) const;  // into scratch.symbols
  // The ids of a pretoken that is too long for the cache of short ones; valid until the next call.
  std::span<const int32_t> encode_long(std::string_view pretoken, BpeScratch& scratch) const;

  BpeVocabulary vocabulary_;
  TokenBytes bytes_;
  std::vector<Pretokenizer> first_cuts_;
  Pretokenizer pretokenizer_;
  MergeTable pairs_;
  std::unordered_map<uint32_t, int32_t> characters_;     // by code point
  std::unordered_map<std::string_view, int32_t> whole_;  // Ranks, keeps_whole: pretokens that are tokens unmerged
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<BpeScratch>> idle_;  // one for each thread that encoded at the same time
};

}  // namespace weft
