// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/pretokenizer.h"
#include "data/tokenizer/word_forms.h"

namespace weft {

// One id a byte: id = byte.
class BytesModel : public TokenizerModel {
 public:
  BytesModel();
  std::string_view kind() const override { return "bytes"; }
  void encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const override;
  size_t safe_split(std::string_view text, size_t from) const override;
  int64_t vocabulary() const override { return 256; }
  bool knows(int32_t id) const override { return bytes_.knows(id); }
  std::string_view bytes(int32_t id) const override { return bytes_[id]; }
  std::string written(int32_t id) const override;
  void hash_into(Hasher&) const override {}
  void write_json(nlohmann::json&) const override {}

 private:
  TokenBytes bytes_;
};

// A list of symbols with an id each: characters (`chars`) or the forms of whitespace-separated words (`words`). A
// symbol that is not in the list becomes `unk`, or is an error without `unk`.
class ListModel : public TokenizerModel {
 public:
  using Symbols = std::vector<std::pair<std::string, int32_t>>;

  // `rule`: Chars or Words; `forms`: of words. DataError beginning with `where` unless ids ascend, symbols differ,
  // those of chars are one character each, and words are in their form.
  ListModel(Pretokenizer::Rule rule, Symbols symbols, std::optional<int32_t> unk, const std::string& where,
            WordForms forms = {});

  std::string_view kind() const override { return splitter_.pattern(); }
  void encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const override;
  int64_t vocabulary() const override { return bytes_.size(); }
  bool knows(int32_t id) const override { return bytes_.knows(id); }
  std::string_view bytes(int32_t id) const override { return bytes_[id]; }
  std::string written(int32_t id) const override { return std::string(bytes_[id]); }
  std::string_view separator() const override { return splitter_.rule() == Pretokenizer::Rule::Words ? " " : ""; }
  void hash_into(Hasher& hasher) const override;
  void write_json(nlohmann::json& json) const override;
  static std::unique_ptr<const ListModel> read_json(const nlohmann::json& json, Pretokenizer::Rule rule,
                                                    std::optional<int32_t> unk, const std::string& where);

 private:
  void encode_symbol(std::string_view symbol, size_t offset, std::vector<int32_t>& ids) const;
  [[noreturn]] void refuse(std::string_view symbol, size_t offset) const;

  Pretokenizer splitter_;
  WordForms forms_;
  TokenBytes bytes_;
  std::vector<int32_t> ids_;  // the symbols' ids, ascending
  std::unordered_map<std::string_view, int32_t> find_;
  std::optional<int32_t> unk_;
};

}  // namespace weft
