// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "tests/data/tokenizer/fixture/make_tokenizer.h"
#include "tests/support/deep_json.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using Ids = std::vector<int32_t>;
using Json = nlohmann::json;

class TokenizerFiles : public testing::Test {
 protected:
  fs::path write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  static void expect_error(const std::function<void()>& call, const std::vector<std::string>& parts) {
    try {
      call();
      ADD_FAILURE() << "no error, expected: " << parts.back();
    } catch (const DataError& error) {
      for (const std::string& part : parts) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what() << "\nlacks: " << part;
      }
    }
  }
  const Scratch scratch_;
  const fs::path folder_ = scratch_.path();
};

TokenizerPtr make(const TokenizerConfig& config) {
  const std::vector<std::string_view> texts = {"the cat's hat, the bat \xFF é\n", "a cat that sat"};
  return test::train_tokenizer(config, texts, 1);
}

std::vector<TokenizerPtr> one_of_each(const fs::path& ranks) {
  return {make({.kind = TokenizerKind::Bpe, .merges = 12, .specials = {"<s>"}, .bos = "<s>", .eos = "<s>"}),
          make({.kind = TokenizerKind::Bpe, .merges = 3, .pattern = R"(\w+|\s)"}),
          make({.kind = TokenizerKind::Bytes, .specials = {"é"}, .pad = "é"}),
          make({.kind = TokenizerKind::Chars, .specials = {"?"}, .unk = "?"}),
          make({.kind = TokenizerKind::Words, .min_frequency = 1, .specials = {"<unk>"}, .unk = "<unk>"}),
          make({.kind = TokenizerKind::Words, .lowercase = true, .strip_punctuation = true, .min_frequency = 1}),
          test::load_tiktoken(ranks, "gpt4")};
}

// 256 single bytes, then "th", "he", "the".
std::string tiny_ranks() { return test::ranks_of_bytes() + "dGg= 256\naGU= 257\ndGhl 258\n"; }

struct Gpt2Files {
  std::string vocab;
  std::string merges;
};

// A vocabulary and merges with the same three tokens, and <|endoftext|>.
Gpt2Files tiny_gpt2() {
  Json vocab;
  int next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool visible = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    const int c = visible ? b : next++;
    std::string text;
    if (c < 0x80) {
      text += static_cast<char>(c);
    } else {
      text += static_cast<char>(0xC0 | c >> 6);
      text += static_cast<char>(0x80 | (c & 63));
    }
    vocab[text] = b;
  }
  vocab["th"] = 256;
  vocab["he"] = 257;
  vocab["the"] = 258;
  vocab["<|endoftext|>"] = 259;
  return {vocab.dump(), "#version: 0.2\nt h\nh e\nth e\n"};
}

TEST_F(TokenizerFiles, AreTheSameAfterSavingAndLoading) {
  for (const TokenizerPtr& tokenizer : one_of_each(write("r.tiktoken", tiny_ranks()))) {
    const fs::path path = folder_ / "t.json";
    tokenizer->save(path);
    const TokenizerPtr copy = Tokenizer::load(path);
    EXPECT_EQ(copy->kind(), tokenizer->kind());
    EXPECT_EQ(copy->hash(), tokenizer->hash());
    EXPECT_EQ(copy->vocabulary(), tokenizer->vocabulary());
    EXPECT_EQ(copy->specials(), tokenizer->specials());
    EXPECT_EQ(copy->to_json(), tokenizer->to_json());
    for (SpecialRole role : {SpecialRole::Bos, SpecialRole::Eos, SpecialRole::Pad, SpecialRole::Unk}) {
      EXPECT_EQ(copy->special(role), tokenizer->special(role));
    }
    EXPECT_EQ(copy->encode("the cat that sat \xFF"), tokenizer->encode("the cat that sat \xFF"));
    EXPECT_EQ(copy->decode(copy->encode("the cat")), "the cat");
  }
  EXPECT_THROW(make({.kind = TokenizerKind::Bytes})->save(folder_ / "none" / "t.json"), DataError);
}

// Two vocabularies are the same exactly when their hashes are.
TEST_F(TokenizerFiles, HashDistinguishesVocabularies) {
  const TokenizerConfig config{.kind = TokenizerKind::Bpe, .merges = 6, .min_frequency = 1, .specials = {"<s>", "<e>"}};
  const auto hash_with = [&](const std::function<void(TokenizerConfig&)>& change) {
    TokenizerConfig changed = config;
    change(changed);
    return make(changed)->hash();
  };
  const uint64_t hash = make(config)->hash();
  EXPECT_EQ(hash_with([](auto&) {}), hash);
  EXPECT_EQ(hash_with([](auto& c) { c.vocabulary = 256 + 2 + 6, c.merges = 0; }), hash);
  EXPECT_NE(hash_with([](auto& c) { c.merges = 5; }), hash);
  EXPECT_NE(hash_with([](auto& c) { c.pattern = "gpt2"; }), hash);
  EXPECT_NE(hash_with([](auto& c) { c.specials = {"<e>", "<s>"}; }), hash);
  EXPECT_NE(hash_with([](auto& c) { c.eos = "<e>"; }), hash);
  EXPECT_NE(make({.kind = TokenizerKind::Bytes})->hash(), make({.kind = TokenizerKind::Chars})->hash());
}

TEST_F(TokenizerFiles, SayWhatIsWrongWithTheJson) {
  const Json good =
      Json::parse(make({.kind = TokenizerKind::Bpe, .merges = 3, .specials = {"<s>"}, .bos = "<s>"})->to_json());
  const fs::path path = folder_ / "t.json";
  const auto fails = [&](const Json& json, const std::string& part) {
    write("t.json", json.dump());
    expect_error([&] { Tokenizer::load(path); }, {path.string(), part});
  };
  const auto with = [&](const std::string& pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    return json;
  };
  const auto without = [&](const char* name) {
    Json json = good;
    json.erase(name);
    return json;
  };
  fails(Json::array(), "expected an object");
  fails(without("format"), "\"format\" is missing");
  fails(with("/format", "tiktoken"), "format is \"tiktoken\"");
  fails(with("/version", 2), "version: expected version 1, which this weft reads, got 2");
  fails(with("/version", "1"), "which this weft reads, got \"1\"");
  fails(with("/kind", "morphemes"), "\"morphemes\" is not bpe, bytes, chars, words, sentencepiece or unigram");
  fails(with("/more", 1), "unknown member \"more\"");
  fails(without("pattern"), "\"pattern\" is missing");
  fails(with("/pattern", "("), "pattern \"(\"");
  fails(with("/pattern", ""), "pattern: expected a string that is not empty");
  fails(with("/rule", "best"), "\"best\" is neither merges nor ranks");
  fails(with("/bytes", 3), "bytes: expected a list, got 3");
  fails(with("/bytes", Json::array({1})), "bytes: 1 ids, expected 256");
  fails(with("/bytes/3", -1), "bytes[3]: expected an id of 0 to 16777215, got -1");
  fails(with("/bytes/3", 1e30), "bytes[3]: expected an id");
  fails(with("/bytes/3", 2), "byte 3: id 2 is taken");
  fails(with("/merges/1", Json::array({1, 2})), "merges[1]: expected [left, right, id]");
  fails(with("/merges/1/0", "a"), "merges[1]: expected [left, right, id]");
  fails(with("/merges/0/0", 257), "merge 0 (257");  // a merge of itself
  fails(with("/merges/0/0", 999), "999 is neither a byte nor a character nor made by another merge");
  fails(with("/merges/1/2", 257), "id 257 is taken");
  fails(with("/merges/1", good["merges"][0]), "merge 0 is of the same pair");
  fails(with("/specials", 1), "specials: expected a list");
  fails(with("/specials/0/id", 65), "special \"<s>\": id 65 is a token's");
  fails(with("/specials/0/id", 1 << 24), "specials[0]: id: expected an id");
  fails(with("/specials/0/name", ""), "specials[0]: name: expected a string that is not empty");
  fails(with("/specials/1", good["specials"][0]), "special \"<s>\" is there twice");
  fails(with("/specials/0/x", 1), "specials[0]: unknown member \"x\"");
  fails(with("/roles/eos", "</s>"), "roles: eos: \"</s>\" is not among the specials");
  fails(with("/roles/end", "<s>"), "roles: unknown member \"end\"");
  write("t.json", "{\"format\": ");
  expect_error([&] { Tokenizer::load(path); }, {path.string(), "no valid JSON at byte"});
  write("t.json", "");
  expect_error([&] { Tokenizer::load(path); }, {path.string(), "no valid JSON"});
  for (const std::string& deep : deepest_values()) {
    write("t.json", "{\"format\": " + deep + "}");
    expect_error([&] { Tokenizer::load(path); }, {path.string(), "within each other"});
  }
  expect_error([&] { Tokenizer::load(folder_ / "none.json"); }, {"none.json", "No such file"});
  expect_error([&] { Tokenizer::load(folder_); }, {folder_.string()});
}

TEST_F(TokenizerFiles, SayWhatIsWrongWithListsOfTokens) {
  const auto fails = [&](TokenizerKind kind, const Json& tokens, const std::string& part) {
    Json json = Json::parse(make({.kind = kind, .min_frequency = 1})->to_json());
    json["tokens"] = tokens;
    expect_error([&] { Tokenizer::from_json(json.dump(), "x.json"); }, {"x.json", part});
  };
  using enum TokenizerKind;
  fails(Chars, Json::parse(R"([["ab", 0]])"), "tokens[0]: \"ab\" is not one of chars");
  fails(Chars, Json::parse(R"([["a", 0], ["b", 0]])"), "tokens[1]: id 0 must be above 0");
  fails(Chars, Json::parse(R"([["a", 0], ["a", 1]])"), "tokens[1]: \"a\" is there already");
  fails(Chars, Json::parse(R"([["a"]])"), "tokens[0]: expected [token, id]");
  fails(Chars, Json::parse(R"([[1, 0]])"), "expected a string or {\"hex\": \"...\"}, got 1");
  fails(Chars, Json::parse(R"([[{"hex": "f"}, 0]])"), "\"f\" is not pairs of digits");
  fails(Chars, Json::parse(R"([[{"hex": "GG"}, 0]])"), "\"GG\" is not pairs of digits");
  fails(Words, Json::parse(R"([["a b", 0]])"), "\"a b\" is not one of words");
  fails(Words, Json::parse(R"([["", 0]])"), "\"\" is not one of words");
  fails(Words, Json::parse(R"({"a": 0})"), "tokens: expected a list");
}

TEST_F(TokenizerFiles, SayWhatIsWrongWithFormsOfWords) {
  const auto edited = [&](TokenizerKind kind, const char* member, const Json& value) {
    Json json = Json::parse(make({.kind = kind, .min_frequency = 1})->to_json());
    json[member] = value;
    return [json] { Tokenizer::from_json(json.dump(), "x.json"); };
  };
  using enum TokenizerKind;
  expect_error(edited(Words, "strip_punctuation", true),
               {"x.json: tokens[", "\"hat,\" is not the form of a word, \"hat\""});
  expect_error(edited(Words, "lowercase", false), {"x.json: lowercase", "true, or no such member"});
  expect_error(edited(Words, "lowercase", "yes"), {"x.json: lowercase"});
  expect_error(edited(Chars, "lowercase", true), {"x.json", "lowercase"});
}

TEST_F(TokenizerFiles, RefuseTokensThatGrowWithoutBound) {
  Json json = Json::parse(make({.kind = TokenizerKind::Bpe, .merges = 1})->to_json());
  json["merges"] = Json::array({{97, 97, 256}});
  for (int id = 257; id < 300; ++id) json["merges"].push_back({id - 1, id - 1, id});  // 2^44 bytes
  expect_error([&] { Tokenizer::from_json(json.dump(), "x.json"); }, {"x.json", "a token of 131072 bytes"});
}

TEST_F(TokenizerFiles, Gpt2AndTiktokenFilesGiveEqualTokenizers) {
  const Gpt2Files files = tiny_gpt2();
  const auto gpt2 = test::load_gpt2(write("v.json", files.vocab), write("m.txt", files.merges));
  EXPECT_EQ(gpt2->encode("the he"), (Ids{258, ' ', 257}));
  EXPECT_EQ(gpt2->special("<|endoftext|>"), 259);
  EXPECT_EQ(gpt2->special(SpecialRole::Eos), 259);
  EXPECT_EQ(gpt2->decode(Ids{258, 0xAD, ' ', 0xFF}), "the\xAD \xFF");
  const auto windows = test::load_gpt2(folder_ / "v.json", write("w.txt", "#version: 0.2\r\nt h\r\nh e\r\nth e\r\n"));
  EXPECT_EQ(windows->hash(), gpt2->hash());
  const auto tiktoken = test::load_tiktoken(write("r.tiktoken", tiny_ranks()), "gpt2");
  EXPECT_EQ(tiktoken->encode("the he"), (Ids{258, ' ', 257}));
  EXPECT_TRUE(tiktoken->specials().empty());
}

// Under the rule of ranks, neighbours merge if their joined bytes are a token, whatever tokens they are themselves.
TEST_F(TokenizerFiles, RanksMergeWhateverJoinsToAToken) {
  const auto tokenizer =
      test::load_tiktoken(write("r.tiktoken", tiny_ranks() + "eHk= 259\neHl6 260\neXo= 261\nd3h5 262\n"), "none");
  EXPECT_EQ(tokenizer->encode("xyz"), Ids{260});          // xy + z, and the token xyz itself
  EXPECT_EQ(tokenizer->encode("wxyz"), (Ids{'w', 260}));  // x + y, then xy + z before w + xy
  EXPECT_EQ(tokenizer->encode("wxy"), Ids{262});
  EXPECT_EQ(tokenizer->encode("ayz"), (Ids{'a', 261}));
}

TEST_F(TokenizerFiles, SayWhatIsWrongWithGpt2sFiles) {
  const Gpt2Files good = tiny_gpt2();
  const auto fails = [&](const std::string& vocab, const std::string& merges, const std::vector<std::string>& parts) {
    const fs::path v = write("v.json", vocab), m = write("m.txt", merges);
    expect_error([&] { test::load_gpt2(v, m); }, parts);
  };
  const auto vocab_with = [&](const std::string& token, const Json& id) {
    Json json = Json::parse(good.vocab);
    json[token] = id;
    return json.dump();
  };
  Json lacking = Json::parse(good.vocab);
  lacking.erase("a");
  fails("[1]", good.merges, {"v.json", "expected an object"});
  fails("{", good.merges, {"v.json", "no valid JSON"});
  for (const std::string& deep : deepest_values()) fails(deep, good.merges, {"v.json", "within each other"});
  fails(vocab_with("zz", -3), good.merges, {"v.json", "\"zz\"", "expected an id"});
  fails(vocab_with("zz", "3"), good.merges, {"v.json", "\"zz\"", "expected an id"});
  fails(vocab_with("zz", 258), good.merges, {"v.json", "261 tokens, but the bytes, 3 merges"});
  fails(lacking.dump(), good.merges, {"v.json", "no token is the single byte 97"});
  fails(good.vocab, "t h\nh e\nth\n", {"m.txt:3", "expected two tokens"});
  fails(good.vocab, "t h e\n", {"m.txt:1", "expected two tokens"});
  fails(good.vocab, "t  h\n", {"m.txt:1", "expected two tokens"});
  fails(good.vocab, "t h\n\xFF e\n", {"m.txt:2", "expected two tokens"});
  fails(good.vocab, "a b\n", {"m.txt:1", "\"ab\" is not in", "v.json"});
  fails(good.vocab, "th e\nh e\n", {"m.txt", "neither a byte nor a character nor made by another merge"});
  fails(good.vocab, good.merges + "t h\n", {"m.txt", "same pair"});
  expect_error([&] { test::load_gpt2(folder_ / "none", folder_ / "m.txt"); }, {"none", "No such file"});
}

TEST_F(TokenizerFiles, SayWhatIsWrongWithRankFiles) {
  const auto fails = [&](const std::string& text, const std::vector<std::string>& parts) {
    const fs::path path = write("r.tiktoken", text);
    expect_error([&] { test::load_tiktoken(path, "gpt4"); }, parts);
  };
  const std::string good = tiny_ranks();
  fails("", {"r.tiktoken", "no ranks"});
  fails(good + "dGg=\n", {"r.tiktoken:260", "expected base64, a space and a rank"});
  fails(good + "d*g= 300\n", {"r.tiktoken:260", "\"d*g=\" is not base64"});
  fails(good + "dGh 300\n", {"r.tiktoken:260", "is not base64"});
  fails(good + "d=g= 300\n", {"r.tiktoken:260", "is not base64"});
  fails(good + " 300\n", {"r.tiktoken:260", "is not base64"});
  fails(good + "dGhlbg== -1\n", {"r.tiktoken:260", "\"-1\" is not a rank"});
  fails(good + "dGhlbg== 99999999999\n", {"r.tiktoken:260", "is not a rank"});
  fails(good + "dGhlbg== 300 \n", {"r.tiktoken:260", "is not a rank"});
  fails(good + "dGhlbg== 258\n", {"r.tiktoken", "ids must ascend"});
  fails(good + std::string(2000, 'A') + " 300\n", {"r.tiktoken", "token 300: 1500 bytes (at most 1024)"});
  fails(good + "dGg= 300\n", {"r.tiktoken", "token 300: the same bytes as token 256"});
  fails(good.substr(good.find('\n') + 1), {"r.tiktoken", "no token is the single byte 0"});
}

// Lines for `count` ranks: the bytes, then three-byte tokens; no token has the rank `skipped`.
std::string many_ranks(int count, int skipped = -1) {
  std::string text = test::ranks_of_bytes();
  for (int i = 256, rank = 256; i < count; ++i, ++rank) {
    if (rank == skipped) ++rank;
    const int n = i - 256;
    const std::string bytes = {static_cast<char>(n >> 16), static_cast<char>(n >> 8), static_cast<char>(n)};
    text += test::base64(bytes) + fmt::format(" {}\n", rank);
  }
  return text;
}

TEST_F(TokenizerFiles, PublishedRankFilesBringTheirPatternAndSpecials) {
  const auto pattern_of = [](const TokenizerPtr& tokenizer) { return Json::parse(tokenizer->to_json())["pattern"]; };
  const auto r50k = test::load_tiktoken(write("r50k", many_ranks(50256)));
  EXPECT_EQ(pattern_of(r50k), "gpt2");
  EXPECT_EQ(r50k->special(SpecialRole::Eos), 50256);
  const auto with_end = test::load_tiktoken(write("gpt2", many_ranks(50256) + "PHxlbmRvZnRleHR8Pg== 50256\n"));
  EXPECT_EQ(with_end->hash(), r50k->hash());
  const auto p50k = test::load_tiktoken(write("p50k", many_ranks(50280, 50256)));
  EXPECT_EQ(pattern_of(p50k), "gpt2");
  EXPECT_EQ(p50k->special("<|endoftext|>"), 50256);
  EXPECT_EQ(p50k->vocabulary(), 50281);
  const auto cl100k = test::load_tiktoken(write("cl100k", many_ranks(100256)));
  EXPECT_EQ(pattern_of(cl100k), "gpt4");
  EXPECT_EQ(cl100k->special("<|endofprompt|>"), 100276);
  const auto o200k = test::load_tiktoken(write("o200k", many_ranks(199998)));
  EXPECT_EQ(pattern_of(o200k), "o200k");
  EXPECT_EQ(o200k->special(SpecialRole::Bos), 199999);
  EXPECT_EQ(o200k->special("<|endofprompt|>"), 200018);
  EXPECT_EQ(pattern_of(test::load_tiktoken(folder_ / "r50k", "none")), "none");  // an explicit pattern is used
}

TEST_F(TokenizerFiles, AnUnknownRankFileMustSayItsPattern) {
  const fs::path path = write("own.tiktoken", tiny_ranks());
  try {
    test::load_tiktoken(path);
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("own.tiktoken has 259 ranks up to 258"), std::string::npos)
        << error.what();
    EXPECT_NE(error.hint().find("gpt2, gpt4, o200k, none or a regular expression"), std::string::npos) << error.hint();
  }
}

// A damaged file loads or is refused with a DataError; a tokenizer that loads can encode and decode.
TEST_F(TokenizerFiles, SurviveDamage) {
  const Gpt2Files gpt2 = tiny_gpt2();
  const std::string ranks = tiny_ranks();
  std::vector<std::pair<std::string, std::function<TokenizerPtr(const std::string&)>>> readers;
  for (const TokenizerPtr& tokenizer : one_of_each(write("r.tiktoken", ranks))) {
    readers.emplace_back(tokenizer->to_json(), [](const std::string& text) { return Tokenizer::from_json(text, "x"); });
  }
  readers.emplace_back(ranks,
                       [&](const std::string& text) { return test::load_tiktoken(write("r.tiktoken", text), "gpt4"); });
  readers.emplace_back(gpt2.vocab, [&](const std::string& text) {
    return test::load_gpt2(write("v.json", text), write("m.txt", gpt2.merges));
  });
  readers.emplace_back(gpt2.merges, [&](const std::string& text) {
    return test::load_gpt2(write("v.json", gpt2.vocab), write("m.txt", text));
  });
  std::mt19937 random(9);
  int refused = 0, loaded = 0;
  for (const auto& [good, read] : readers) {
    for (int round = 0; round < 300; ++round) {
      std::string text = good;
      for (size_t n = 1 + random() % 3; n > 0; --n) {
        const size_t at = random() % text.size();
        switch (random() % 5) {
          case 0:
            text[at] = static_cast<char>(random());
            break;
          case 1:
            text[at] = "0123456789,[]{}\"- "[random() % 18];
            break;
          case 2:
            text.erase(at, 1 + random() % 4);
            break;
          case 3:
            text.insert(at, text, random() % text.size(), random() % 20);
            break;
          default:
            text.resize(at + 1);
        }
        if (text.empty()) text.assign(1, ' ');
      }
      try {
        const TokenizerPtr tokenizer = read(text);
        ++loaded;
        if (tokenizer->kind() != "chars" && tokenizer->kind() != "words") {
          EXPECT_EQ(tokenizer->decode(tokenizer->encode("the \xFF hat")), "the \xFF hat");
        }
      } catch (const DataError& error) {
        EXPECT_STRNE(error.what(), "");
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(loaded, 50);
}

}  // namespace
}  // namespace weft
