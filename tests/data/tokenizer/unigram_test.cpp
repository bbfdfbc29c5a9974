// SPDX-License-Identifier: Apache-2.0
// Unigram models: how text is split, and what is refused. That the ids are those of tokenizers is tested by
// foreign_test.cpp.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/tokenizer/formats/base64.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "data/tokenizer/unigram/tokenizers_unicode.h"
#include "tests/data/tokenizer/fixture/make_tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

using PieceIds = std::vector<int32_t>;
using UnigramJson = nlohmann::json;

// weft's own file of pieces with the ids from 1 on; 0 is unk.
UnigramJson own_unigram(const std::vector<std::pair<std::string, double>>& pieces) {
  UnigramJson json = UnigramJson::parse(R"({"format":"weft-tokenizer","version":1,"kind":"unigram","specials":
      [{"name":"<unk>","id":0}],"roles":{"unk":"<unk>"},"pieces":[["<unk>",0]]})");
  for (const auto& [text, score] : pieces) json["pieces"].push_back(UnigramJson::array({text, score}));
  return json;
}

PieceIds ids_of(const UnigramJson& json, const std::string& text) {
  return Tokenizer::from_json(json.dump(), "t")->encode(text);
}

std::string unigram_text(const std::string& name) {
  return read_file(fs::path(source_dir()) / "tests/data/tokenizer/foreign" / (name + ".json"));
}

TokenizerPtr read_unigram(const std::string& text) {
  const Scratch scratch;
  return train_tokenizer({.kind = TokenizerKind::HuggingFace, .model_file = scratch.write("t.json", text)}, {}, 1);
}

TEST(Unigram, TakesThePiecesOfTheHighestSum) {
  const std::vector<std::pair<std::string, double>> pieces = {{"a", -1},    {"b", -1},     {"c", -1},
                                                              {"ab", -1.5}, {"bc", -1.25}, {"abc", -9}};
  EXPECT_EQ(ids_of(own_unigram(pieces), "abc"), (PieceIds{1, 5}));
  EXPECT_EQ(ids_of(own_unigram(pieces), "abab"), (PieceIds{4, 4}));
}

TEST(Unigram, EqualSumsKeepTheOneFoundFirst) {
  const std::vector<std::pair<std::string, double>> pieces = {{"a", -1}, {"b", -1}, {"c", -1}, {"ab", -2}, {"bc", -2}};
  EXPECT_EQ(ids_of(own_unigram(pieces), "ab"), (PieceIds{4}));
  EXPECT_EQ(ids_of(own_unigram(pieces), "abc"), (PieceIds{1, 5}));
}

TEST(Unigram, UnknownNeighboursAreOneUnk) {
  EXPECT_EQ(ids_of(own_unigram({{"a", -1}}), "xyaz\u65e5\u672c"), (PieceIds{0, 1, 0}));
  EXPECT_EQ(ids_of(own_unigram({{"a", -1}}), "\xff\xe6\x97"), (PieceIds{0}));
}

// The sum of "xy" is 100, and of two unknown characters 180; tokenizers then looks for them together.
TEST(Unigram, UnknownNeighboursThatAreAPieceBecomeIt) {
  UnigramJson json = own_unigram({{"xy", 100}});
  json["pieces"][0][1] = 200;
  EXPECT_EQ(ids_of(json, "xy"), (PieceIds{1}));
  EXPECT_EQ(ids_of(json, "xyx"), (PieceIds{0}));
}

TEST(Unigram, FallsBackToBytesOnlyIfAllAreThere) {
  UnigramJson json = own_unigram({{"a", -1}, {"<0xC3>", 0}, {"<0xA9>", 0}});
  EXPECT_EQ(ids_of(json, "a\u00e9"), (PieceIds{1, 0}));
  json["byte_fallback"] = true;
  EXPECT_EQ(ids_of(json, "a\u00e9"), (PieceIds{1, 2, 3}));
  EXPECT_EQ(ids_of(json, "a\u00e9\u00e8"), (PieceIds{1, 0}));  // <0xA8> is missing
  EXPECT_EQ(Tokenizer::from_json(json.dump(), "t")->decode(PieceIds{1, 2, 3}), "a\u00e9");
}

// Paths to even and to odd places share nothing, so all of the text is undecided up to its end.
TEST(Unigram, LongTextsWithoutAPlaceToCutAreSplitInOnePass) {
  const UnigramJson json = own_unigram({{"aa", -1}, {"b", -1}});
  constexpr size_t kPairs = 200000;
  PieceIds expected(kPairs, 1);
  expected.insert(expected.begin(), 0);
  EXPECT_EQ(ids_of(json, std::string(2 * kPairs + 1, 'a')), expected);
}

TEST(Unigram, TextDoesNotBecomeASpecial) {
  const TokenizerPtr tokenizer = read_unigram(unigram_text("t5"));
  const int32_t end = *tokenizer->special("</s>"), tool = *tokenizer->special("<tool>");
  const PieceIds ids = tokenizer->encode("</s> <tool>");
  EXPECT_EQ(std::ranges::count(ids, end), 0);
  EXPECT_EQ(std::ranges::count(ids, tool), 1);
  EXPECT_EQ(tokenizer->encode("</s>", {.recognise_specials = true}), (PieceIds{end}));
}

TEST(Unigram, ASpecialMayDropTheWhiteSpaceBeforeIt) {
  const TokenizerPtr tokenizer = read_unigram(unigram_text("xlmr"));
  const int32_t mask = *tokenizer->special("<mask>");
  const auto encode = [&](const char* text) { return tokenizer->encode(text, {.recognise_specials = true}); };
  EXPECT_EQ(encode(" \t\u3000<mask>"), (PieceIds{mask}));
  EXPECT_EQ(encode("the \u00a0<mask>"), encode("the<mask>"));
  EXPECT_NE(tokenizer->hash(), [&] {
    UnigramJson json = UnigramJson::parse(tokenizer->to_json());
    for (UnigramJson& special : json["specials"]) special.erase("strips_left");
    return Tokenizer::from_json(json.dump(), "t")->hash();
  }());
}

TEST(Unigram, BlanksAreKeptAndTheOneBeforeATextIsTakenAway) {
  const TokenizerPtr tokenizer = read_unigram(unigram_text("unigram_bytes"));
  const PieceIds ids = tokenizer->encode("the old man");
  EXPECT_EQ(tokenizer->decode(ids), "the old man");
  EXPECT_EQ(tokenizer->decode(ids, {.continues = true}), " the old man");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("the", {.continues = true}), {.continues = true}), "the");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("\u65e5\u672c\u8a9e")), "\u65e5\u672c\u8a9e");
}

TEST(Unigram, HostilePiecesAreRefusedByName) {
  const auto fails = [](const std::string& piece, const std::string& part) {
    UnigramJson json = own_unigram({{"a", -1}});
    json["pieces"].push_back(UnigramJson::parse(piece));
    const std::string message = error_of([&] { ids_of(json, "a"); });
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  };
  fails(R"(["", -1])", "t: piece 2: its text is empty");
  fails("[\"" + std::string(1025, 'x') + "\", -1]", "longer than 1024 bytes");
  fails(R"(["a", -2])", "t: piece 2: \"a\" is piece 1 already");
  fails(R"(["b", 2e9])", "t: piece 2: its score is 2000000000");
  fails(R"(["b", -2e9])", "t: piece 2: its score is -2000000000");
  fails(R"(["b", null])", "t: pieces[2]: expected [text, score]");
  fails(R"(["b"])", "t: pieces[2]: expected [text, score]");
  fails("[7, 7]", "t: pieces[2]: expected [text, score]");
}

TEST(Unigram, HostileOwnFilesAreRefusedByName) {
  const UnigramJson good = own_unigram({{"a", -1}, {"<0x41>", 0}});
  const auto fails = [&](const char* at, const char* value, const std::string& part) {
    UnigramJson json = good;
    json[UnigramJson::json_pointer(at)] = UnigramJson::parse(value);
    const std::string message = error_of([&] { ids_of(json, "a"); });
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  };
  fails("/pieces", "[]", "t: 0 pieces; expected 1 to");
  fails("/roles", "{}", "t: no piece is the unknown token");
  fails("/specials/0/id", "7", "t: no piece is the unknown token");
  fails("/specials/0/name", R"("<pad>")", "t: roles: unk: \"<unk>\" is not among the specials");
  fails("/pieces/0/0", R"("b")", "t: piece 0 is \"b\", but the special of this id \"<unk>\"");
  fails("/words", "1", "t: words: expected true, or no such member");
  fails("/blanks", R"({"prefix":"always"})", "t: blanks: prefix: expected never, if-missing or if-missing-at-begin");
  fails("/blanks", R"({"prefix":"never","cut":0})", "t: blanks: cut: expected true");
  fails("/steps", R"([{"charsmap":"abc"}])", "t: steps[0]: charsmap: the table of normalisation is damaged");
  fails("/steps", R"([{"replace":"","by":""}])", "t: steps[0]: replace: expected a string that is not empty");
  fails("/steps", R"([{"replace":"a"}])", "t: steps[0]: expected one step");
  fails("/steps", R"([{"strip":"top"}])", "t: steps[0]: strip: \"top\" is not one of left, right, both");
  fails("/steps", R"([{"lowercase":false}])", "t: steps[0]: lowercase: expected true");
  fails("/steps", R"([{"by":true}])", "t: steps[0]: `by` without `replace`");
  fails("/steps", UnigramJson(20, {{"replace", "a"}, {"by", "aa"}}).dump().c_str(),
        "t: its steps can make a text 1.05e+06 times as long (at most 65536)");
  fails("/steps", "[{}]", "t: steps[0]: expected one step");
  UnigramJson bytes = good;
  bytes["byte_fallback"] = true;
  bytes["specials"].push_back(UnigramJson::parse(R"({"name":"<0x41>","id":2})"));
  EXPECT_EQ(error_of([&] { ids_of(bytes, "a"); }), "t: piece 2 is \"<0x41>\", a byte's, but also a special");
}

TEST(UnigramFile, WhatCannotBeRepresentedIsRefusedByName) {
  const auto fails = [](const char* name, const char* at, const UnigramJson& value, const std::string& part) {
    UnigramJson json = UnigramJson::parse(unigram_text(name));
    json[UnigramJson::json_pointer(at)] = value;
    const std::string message = error_of([&] { read_unigram(json.dump()); });
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  };
  const auto step = [](const char* type) { return UnigramJson{{"type", type}}; };
  fails("t5", "/model/unk_id", nullptr, "model: unk_id: null cannot be represented");
  fails("t5", "/model/unk_id", -1, "model: unk_id: expected an id of 0 to");
  fails("t5", "/model/unk_id", 5, "model: unk_id: 5 is no piece that is a special");
  fails("t5", "/model/unk_id", 100000, "model: unk_id: 100000 is no piece that is a special");
  fails("t5", "/model/alpha", 0.5, "model: alpha: 0.5 cannot be represented");
  fails("t5", "/model/vocab", UnigramJson::object(), "model: vocab: expected a list");
  fails("t5", "/model/vocab/7", UnigramJson::array({"", 0}), "model: piece 7: its text is empty");
  fails("t5", "/normalizer", step("Nmt"), "normalizer: {\"type\":\"Nmt\"} cannot be represented");
  fails("t5", "/normalizer/normalizers/1/strip_left", 1, "strip_left: expected true or false");
  fails("t5", "/normalizer/normalizers/2/pattern", {{"Regex", "\\s+"}}, "pattern: {\"Regex\":\"\\\\s+\"} cannot be");
  fails("xlmr", "/normalizer/precompiled_charsmap", "!", "precompiled_charsmap: no base64");
  fails("xlmr", "/normalizer/precompiled_charsmap", "AAAA", "the table of normalisation is damaged");
  fails("xlmr", "/pre_tokenizer", step("Punctuation"), "pre_tokenizer: {\"type\":\"Punctuation\"} cannot be");
  fails("xlmr", "/pre_tokenizer/pretokenizers/1/prepend_scheme", "first", "\"first\" cannot be represented");
  fails("xlmr", "/pre_tokenizer/pretokenizers/1/replacement", "_", "\"replacement\":\"_\"");
  fails("xlmr", "/decoder", step("WordPiece"), "decoder: {\"type\":\"WordPiece\"} cannot be represented");
  fails("xlmr", "/added_tokens/0/id", 9, "\"<pad>\": id 9, but tokenizers gives it 0");
  fails("xlmr", "/added_tokens/4/normalized", true, "\"<mask>\": normalized: true cannot be represented");
  fails("t5", "/added_tokens/6/id", 9999, "\"<tool>\": id 9999, but tokenizers gives it 3");
}

TEST(UnigramFile, ASpecialWithAPiecesNameIsNotWritten) {
  UnigramJson json = own_unigram({{"a", -1}});
  json["specials"].push_back({{"name", "b"}, {"id", 2}});
  EXPECT_NO_THROW(hugging_face_tokenizer_files(*Tokenizer::from_json(json.dump(), "t"), 16));
  json["specials"].back()["id"] = 3;
  const auto refusal = [&] {
    return error_of([&] { hugging_face_tokenizer_files(*Tokenizer::from_json(json.dump(), "t"), 16); });
  };
  EXPECT_NE(refusal().find("the special \"b\" another id than 3"), std::string::npos);
  json["specials"].back() = {{"name", "a"}, {"id", 2}};
  EXPECT_NE(refusal().find("the special \"a\" another id than 2"), std::string::npos);
}

// U+0301 came with Unicode 1, U+1E062 and U+1DFA later than 9, U+0897 and U+1C89 later than utf8proc 2.8.
TEST(TokenizersUnicode, IsThatOfEachStep) {
  EXPECT_EQ(to_older_normal_form("\ufb01\u1e62\U0001e062e\u0301", NormalForm::Nfkc), "fi\u1e62\U0001e062\u00e9");
  EXPECT_EQ(to_older_normal_form("a\u0301\u1dfa\u0327\xff", NormalForm::Nfc), "\u00e1\u1dfa\u0327\xff");
  EXPECT_EQ(without_marks("e\u0301\u0903\u1dfa\u1cf2\xff"), "e\u1dfa\xff");
  EXPECT_EQ(to_lower_each("A\u0130\u03a3\u0100\u0101\u1c89\xff"), "ai\u0307\u03c3\u0101\u0101\u1c8a\xff");
  EXPECT_EQ(grapheme_size("\r\nb"), 2u);
  EXPECT_EQ(grapheme_size("\n\u0301"), 1u);
  EXPECT_EQ(grapheme_size("\n\u0897"), 1u);
  EXPECT_EQ(grapheme_size("a\u0301\u0897b"), 6u);
  EXPECT_EQ(grapheme_size("\U0001f44d\U0001f3fda"), 8u);
}

TEST(Base64, WritesWhatItReads) {
  for (const std::string text : {"a", "ab", "abc", "\xff\xfe\xfd\x01"})
    EXPECT_EQ(read_base64(write_base64(text)), text);
  EXPECT_EQ(write_base64("weft!"), "d2VmdCE=");
  EXPECT_EQ(write_base64("weft"), "d2VmdA==");
}

}  // namespace
}  // namespace weft
