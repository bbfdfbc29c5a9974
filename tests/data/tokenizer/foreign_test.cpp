// SPDX-License-Identifier: Apache-2.0
// Tokenizers of other programs give the ids that those programs give (make_foreign_tokenizers.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "data/tokenizer/formats/sentencepiece_proto.h"
#include "data/tokenizer/written.h"
#include "tests/data/tokenizer/fixture/make_tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

using Ids = std::vector<int32_t>;
using Json = nlohmann::json;

fs::path foreign(const std::string& name) { return fs::path(source_dir()) / "tests/data/tokenizer/foreign" / name; }

const Json& golden() {
  static const Json golden =
      Json::parse(read_file(fs::path(source_dir()) / "tests/data/tokenizer/foreign_golden.json"));
  return golden;
}

TokenizerPtr load_hugging_face(const fs::path& path) {
  return train_tokenizer({.kind = TokenizerKind::HuggingFace, .model_file = path}, {}, 1);
}
TokenizerPtr load_sentencepiece(const fs::path& path) {
  return train_tokenizer({.kind = TokenizerKind::SentencePiece, .model_file = path}, {}, 1);
}

// The same tokenizer from the files that weft writes of it.
TokenizerPtr through_files(const Tokenizer& tokenizer) {
  const Scratch scratch;
  for (const auto& [name, text] : hugging_face_tokenizer_files(tokenizer, 64)) scratch.write(name, text);
  return read_hugging_face_tokenizer(scratch.path(), tokenizer.vocabulary()).tokenizer;
}

class HuggingFaceFile : public testing::TestWithParam<std::string> {};

TEST_P(HuggingFaceFile, GivesTheSameIds) {
  const TokenizerPtr tokenizer = load_hugging_face(foreign(GetParam() + ".json"));
  const TokenizerPtr copy = Tokenizer::from_json(tokenizer->to_json(), "copy");
  EXPECT_EQ(copy->hash(), tokenizer->hash());
  EXPECT_EQ(through_files(*tokenizer)->hash(), tokenizer->hash());
  for (size_t i = 0; i < golden()["strings"].size(); ++i) {
    const std::string text = golden()["strings"][i];
    const Ids ids = tokenizer->encode(text, {.recognise_specials = true});
    EXPECT_EQ(ids, golden()["ids"][GetParam()][i].get<Ids>()) << text;
    EXPECT_EQ(copy->encode(text, {.recognise_specials = true}), ids) << text;
    EXPECT_EQ(tokenizer->decode(ids, {.show_specials = true}), golden()["decoded"][GetParam()][i].get<std::string>());
  }
}

TEST_P(HuggingFaceFile, WritesItsTokensAsTheFileDoes) {
  const Json file = Json::parse(read_file(foreign(GetParam() + ".json")));
  const auto tokens = written_tokens(*load_hugging_face(foreign(GetParam() + ".json")));
  const Json& vocab = file["model"]["vocab"];  // of a unigram model a list of [piece, score]
  if (vocab.is_array()) {
    for (size_t id = 0; id < vocab.size(); ++id) EXPECT_EQ(tokens.at(id), vocab[id][0].get<std::string>());
  } else {
    for (const auto& [token, id] : vocab.items()) EXPECT_EQ(tokens.at(id.get<size_t>()), token);
  }
  for (const Json& added : file["added_tokens"]) {
    EXPECT_EQ(tokens.at(added["id"].get<size_t>()), added["content"].get<std::string>());
  }
}

// tokenizers gives a special that the vocabulary lacks the next free id, and not the one that added_tokens states.
TEST(HuggingFaceWriter, PutsSpecialsIntoTheVocabularyWithTheirIds) {
  constexpr std::string_view kTexts[] = {"the boat the boat"};
  const TokenizerPtr tokenizer = train_tokenizer(
      {.kind = TokenizerKind::Bpe, .vocabulary = 260, .specials = {"<a>", "</s>"}, .eos = "</s>"}, kTexts, 1);
  const auto files = hugging_face_tokenizer_files(*tokenizer, 64);
  const Json vocab = Json::parse(files.at("tokenizer.json"))["model"]["vocab"];
  EXPECT_EQ(vocab["<a>"], 256);
  EXPECT_EQ(vocab["</s>"], 257);
  EXPECT_EQ(vocab.size(), 260u);
}

INSTANTIATE_TEST_SUITE_P(Files, HuggingFaceFile,
                         testing::Values("gpt2", "llama3", "qwen2", "smollm2", "llama2", "mistral", "gemma", "t5",
                                         "xlmr", "unigram_bytes"),
                         [](const auto& info) { return info.param; });

TEST(HuggingFaceFile, HasItsSpecials) {
  const TokenizerPtr bytes = load_hugging_face(foreign("gpt2.json")),
                     characters = load_hugging_face(foreign("llama2.json"));
  EXPECT_EQ(bytes->special(SpecialRole::Eos), bytes->special("<|endoftext|>"));
  EXPECT_TRUE(bytes->special("<pad>").has_value());
  EXPECT_EQ(characters->special("<s>"), 1);
  EXPECT_FALSE(characters->special("<0x00>").has_value());
}

TEST(HuggingFaceFile, TokensThatStandForTheirNamesAreFoundInAllText) {
  const TokenizerPtr tokenizer = load_hugging_face(foreign("qwen2.json"));
  const int32_t tool = *tokenizer->special("<tool>"), end = *tokenizer->special("<|endoftext|>");
  EXPECT_FALSE(tokenizer->is_special(tool));
  EXPECT_TRUE(tokenizer->is_special(end));
  const Ids ids = tokenizer->encode("the<tool><|endoftext|>");
  EXPECT_EQ(std::ranges::count(ids, tool), 1);
  EXPECT_EQ(std::ranges::count(ids, end), 0);
  EXPECT_EQ(tokenizer->decode(ids), "the<tool><|endoftext|>");
  EXPECT_EQ(tokenizer->decode(Ids{tool, end}), "<tool>");
  EXPECT_EQ(tokenizer->safe_split("the <tool> the", 1), 3u);
}

// A template that puts one token before a text says that texts begin with it.
TEST(HuggingFaceFile, TheTokenBeforeATextIsBos) {
  const Json good = Json::parse(read_file(foreign("llama3.json")));
  const auto read = [&](const Json& post_processor, const std::string& config) {
    const Scratch scratch;
    Json json = good;
    json["post_processor"] = post_processor;
    scratch.write("tokenizer.json", json.dump());
    scratch.write("tokenizer_config.json", config);
    return read_hugging_face_tokenizer(scratch.path(), 400);
  };
  const Json bytes = {{"type", "ByteLevel"}};
  const Json& before = good["post_processor"];
  const auto steps = [](const Json& list) { return Json{{"type", "Sequence"}, {"processors", list}}; };
  EXPECT_FALSE(read(nullptr, "{}").begins_texts);
  EXPECT_FALSE(read(steps(Json::array({bytes})), "{}").begins_texts);
  for (const Json& post_processor : {before, steps({bytes, before})}) {
    const auto [tokenizer, begins_texts] = read(post_processor, R"({"add_bos_token":true})");
    EXPECT_TRUE(begins_texts);
    EXPECT_EQ(tokenizer->special(SpecialRole::Bos), tokenizer->special("<|endoftext|>"));
  }
  const auto refused = [&](const Json& post_processor, const std::string& config) {
    return error_of([&] { read(post_processor, config); });
  };
  EXPECT_NE(refused(before, R"({"bos_token":"<pad>"})").find("bos_token is \"<pad>\", but tokenizer.json puts"),
            std::string::npos);
  EXPECT_NE(refused(nullptr, R"({"add_bos_token":true})").find("add_bos_token: true cannot be"), std::string::npos);
  EXPECT_NE(refused(steps({before, before}), "{}").find("post_processor: "), std::string::npos);
  Json behind = before;
  std::swap(behind["single"][0], behind["single"][1]);
  EXPECT_NE(refused(behind, "{}").find("post_processor: single: "), std::string::npos);
  Json twice = before;
  twice["single"].insert(twice["single"].begin(), twice["single"][0]);
  EXPECT_NE(refused(twice, "{}").find("post_processor: single: "), std::string::npos);
}

// A name with a blank may lie where a model would cut.
TEST(HuggingFaceFile, ATextIsNotCutWithinAName) {
  Json json = Json::parse(read_file(foreign("qwen2.json")));
  for (Json& token : json["added_tokens"]) {
    if (token["content"] == "<tool>") token["content"] = "tool call";
  }
  const Scratch scratch;
  const TokenizerPtr tokenizer = load_hugging_face(scratch.write("t.json", json.dump()));
  EXPECT_EQ(tokenizer->encode("a tool call").back(), *tokenizer->special("tool call"));
  EXPECT_EQ(tokenizer->safe_split("a tool call", 1), 11u);
}

TEST(HuggingFaceFile, WhatCannotBeRepresentedIsRefusedByName) {
  const Json good = Json::parse(read_file(foreign("gpt2.json")));
  const Scratch scratch;
  const auto fails = [&](const Json::json_pointer& at, const Json& value, const std::string& part) {
    Json json = good;
    json[at] = value;
    const std::string message = error_of([&] { load_hugging_face(scratch.write("t.json", json.dump())); });
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  };
  using At = Json::json_pointer;
  fails(At("/model/type"), "WordPiece", "model: type: \"WordPiece\" cannot be represented");
  fails(At("/model/byte_fallback"), true, "pre_tokenizer: {\"add_prefix_space\"");
  const Json lower = {{"type", "Lowercase"}}, nfc = {{"type", "NFC"}}, digits = {{"type", "Digits"}};
  const Json& bytes = good["pre_tokenizer"];
  const auto sequence = [](const char* steps, const Json& list) { return Json{{"type", "Sequence"}, {steps, list}}; };
  fails(At("/normalizer"), lower, "normalizer: {\"type\":\"Lowercase\"} cannot be represented");
  fails(At("/normalizer"), sequence("normalizers", {nfc, nfc}), "normalizer: {\"type\":\"NFC\"} cannot be represented");
  fails(At("/normalizer"), sequence("normalizers", Json::array({7})), "normalizer: 7 cannot be represented");
  fails(At("/pre_tokenizer"), sequence("pretokenizers", Json::array()), "pre_tokenizer: an object of 2");
  fails(At("/pre_tokenizer"), sequence("pretokenizers", {bytes, digits}), "pre_tokenizer: an object of 2");
  fails(At("/pre_tokenizer"), sequence("pretokenizers", {digits, digits}), "pre_tokenizer: an object of 2");
  fails(At("/pre_tokenizer"), sequence("pretokenizers", {Json{{"type", "Punctuation"}}, bytes}),
        "pre_tokenizer: {\"type\":\"Punctuation\"} cannot be represented");
  fails(At("/pre_tokenizer"), {{"type", "Metaspace"}}, "pre_tokenizer: {\"type\":\"Metaspace\"} cannot be represented");
  fails(At("/pre_tokenizer/add_prefix_space"), true, "pre_tokenizer: add_prefix_space: true cannot be represented");
  fails(At("/added_tokens/0/rstrip"), true, "rstrip: true cannot be represented");
}

TEST(CharacterBpe, KeepsAnyBytes) {
  const TokenizerPtr tokenizer = load_hugging_face(foreign("gemma.json"));
  for (const std::string text : {"a\xff\xc3(\x80", "\xe2\x96", "\n\t\x01", "\u4e2d\u0301"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

// Where a blank stands before each text, the parts of a text have other ids.
TEST(CharacterBpe, IsCutWhereNoBlankIsPutBeforeATextAlone) {
  const std::string text = "the old  man sees";
  EXPECT_EQ(load_hugging_face(foreign("gemma.json"))->safe_split(text, 1), 3u);
  EXPECT_EQ(load_hugging_face(foreign("llama2.json"))->safe_split(text, 1), text.size());
}

TEST(CharacterBpe, HostileFilesAreRefusedByName) {
  const Json good = Json::parse(load_hugging_face(foreign("llama2.json"))->to_json());
  const auto fails = [&](const char* at, const Json& value, const std::string& part) {
    Json json = good;
    json[Json::json_pointer(at)] = value;
    const std::string message = error_of([&] { Tokenizer::from_json(json.dump(), "t"); });
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  };
  fails("/prefix", "sometimes",
        "t: prefix: \"sometimes\" is not one of never, always, if-missing, if-missing-at-begin");
  fails("/characters/0", 7, "t: characters[0]: expected [code point, id]");
  fails("/characters/0/0", 0xD800, "characters: U+D800 is no character or not in its place");
  fails("/characters/0/0", 0x110000, "characters: U+110000 is no character or not in its place");
  fails("/characters/1/0", good["characters"][0][0], "is no character or not in its place");
  fails("/characters/1/1", good["characters"][0][1], "is taken");
  fails("/normal_form", "NFX", "t: normal_form: \"NFX\" is not one of NFC, NFD, NFKC, NFKD");
  fails("/first_patterns", Json::array({"("}), "pattern \"(\"");
  fails("/first_patterns", Json(16, "x"), "16 patterns before the last one");
  Json bytes = Json::parse(load_hugging_face(foreign("gpt2.json"))->to_json());
  bytes["prefix"] = "always";
  const std::string message = error_of([&] { Tokenizer::from_json(bytes.dump(), "t"); });
  EXPECT_NE(message.find("t: prefix: a blank is put before a text of `characters` alone"), std::string::npos)
      << message;
}

// weft looks for names in a text as it is, before it has its normal form.
TEST(HuggingFaceFile, NamesInNormalTextAreRefused) {
  Json json = Json::parse(read_file(foreign("qwen2.json")));
  for (Json& token : json["added_tokens"]) token["normalized"] = true;
  const Scratch scratch;
  const std::string message = error_of([&] { load_hugging_face(scratch.write("t.json", json.dump())); });
  EXPECT_NE(message.find("\"<tool>\": normalized: true cannot be represented"), std::string::npos) << message;
}

class SentencePieceFile : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_sentencepiece()) GTEST_SKIP() << "built without SentencePiece";
  }
};

TEST_P(SentencePieceFile, GivesTheSameIdsAndTexts) {
  const TokenizerPtr tokenizer = load_sentencepiece(foreign(GetParam() + ".model"));
  const TokenizerPtr copy = Tokenizer::from_json(tokenizer->to_json(), "copy");  // made without the model's file
  EXPECT_EQ(copy->hash(), tokenizer->hash());
  const auto unk = tokenizer->special(SpecialRole::Unk);
  ASSERT_TRUE(unk.has_value());
  for (size_t i = 0; i < golden()["strings"].size(); ++i) {
    const std::string text = golden()["strings"][i];
    const Ids ids = tokenizer->encode(text);
    EXPECT_EQ(ids, golden()["ids"][GetParam()][i].get<Ids>()) << text;
    EXPECT_EQ(copy->encode(text), ids) << text;
    if (std::ranges::count(ids, *unk) > 0) continue;  // unk is shown by its name, not as U+2047
    EXPECT_EQ(tokenizer->decode(ids), golden()["decoded"][GetParam()][i].get<std::string>()) << text;
  }
}

TEST_P(SentencePieceFile, WritesTokensAsPieces) {
  const fs::path path = foreign(GetParam() + ".model");
  const auto tokens = written_tokens(*load_sentencepiece(path));
  const auto pieces = read_sentencepiece_proto(read_file(path), "the model").pieces;
  ASSERT_EQ(tokens.size(), pieces.size());
  for (size_t id = 0; id < pieces.size(); ++id) EXPECT_EQ(tokens[id], pieces[id].text);
}

TEST_P(SentencePieceFile, HasTheModelsRoles) {
  const TokenizerPtr tokenizer = load_sentencepiece(foreign(GetParam() + ".model"));
  EXPECT_EQ(tokenizer->kind(), "sentencepiece");
  EXPECT_EQ(tokenizer->special(SpecialRole::Unk), 0);
  EXPECT_EQ(tokenizer->special(SpecialRole::Bos), 1);
  EXPECT_EQ(tokenizer->special(SpecialRole::Eos), 2);
  EXPECT_EQ(tokenizer->special(SpecialRole::Pad).has_value(), GetParam() == "unigram");
  EXPECT_EQ(tokenizer->decode(Ids{1, 2}), "");
  EXPECT_EQ(tokenizer->decode(Ids{1, 2}, {.show_specials = true}), "<s></s>");
  const Ids word = tokenizer->encode("the");
  EXPECT_EQ(tokenizer->decode(word), "the");
  EXPECT_EQ(tokenizer->decode(word, {.continues = true}), " the");
}

INSTANTIATE_TEST_SUITE_P(Files, SentencePieceFile, testing::Values("unigram", "bpe"),
                         [](const auto& info) { return info.param; });

// A message of protobuf's wire format.
std::string bytes_field(int number, const std::string& value) {
  std::string size;
  for (size_t rest = value.size();; rest >>= 7) {
    size += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
    if (rest <= 127) break;
  }
  return std::string(1, static_cast<char>(number << 3 | 2)) + size + value;
}
std::string number_field(int number, char value) { return {static_cast<char>(number << 3), value}; }
std::string piece(const std::string& text, char type, const std::string& score = {"\0\0\0\0", 4}) {
  return bytes_field(1, bytes_field(1, text) + "\x15" + score + number_field(3, type));
}

TEST(SentencePieceProto, HostileModelsAreRefused) {
  const auto fails = [](const std::string& bytes, const std::string& part) {
    const std::string message = error_of([&] { read_sentencepiece_proto(bytes, "m"); });
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  };
  const std::string unk = piece("<unk>", 2);
  EXPECT_EQ(read_sentencepiece_proto(unk + piece("a", 1), "m").pieces.size(), 2u);
  fails("", "m: 0 unknown pieces");
  fails("no model", "no SentencePiece model, or a damaged one");
  fails(unk.substr(0, unk.size() - 1), "no SentencePiece model, or a damaged one");
  fails(unk + unk, "m: 2 unknown pieces");
  fails(unk + piece("", 1), "m: piece 1: its text is empty");
  fails(unk + piece("\xFF", 1), "m: piece 1: its text is empty");
  fails(unk + piece(std::string(1025, 'a'), 1), "longer than 1024 bytes");
  fails(unk + piece("a", 7), "type 7 is unknown");
  fails(unk + piece("a", 1, {"\0\0\xC0\x7F", 4}), "its score is nan");
  fails(unk + bytes_field(2, number_field(3, 3)), "a model by words cannot be represented");
  fails(unk + bytes_field(2, number_field(3, 4)), "a model by characters cannot be represented");
  fails(unk + bytes_field(3, number_field(5, 0)), "escape_whitespaces: false cannot be represented");
  fails(unk + bytes_field(5, bytes_field(2, "x")), "a denormaliser cannot be represented");
  const auto with_table = [&](const std::string& table) { return unk + bytes_field(3, bytes_field(2, table)); };
  const std::string one_unit = {"\4\0\0\0\0\0\0\0\0", 9};  // a root in a table too short for its 256 steps
  fails(with_table("abc"), "the table of normalisation is damaged");
  fails(with_table(one_unit), "the table of normalisation is damaged");
  std::string table = std::string("\0\4\0\0", 4) + std::string(1024, '\0') + std::string(1, '\0');
  EXPECT_NO_THROW(read_sentencepiece_proto(with_table(table), "m"));  // 256 units that match nothing
  table[4 + 2] = '\4';                                                // the root leads 256 units on
  fails(with_table(table), "the table of normalisation is damaged");
  table[4 + 2] = '\0', table.back() = 'x';  // the last text has no end
  fails(with_table(table), "the table of normalisation is damaged");
}

}  // namespace
}  // namespace weft
