// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/tokenizer.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <thread>

#include "base/error.h"
#include "tests/data/tokenizer/fixture/golden.h"
#include "tests/data/tokenizer/fixture/make_tokenizer.h"
#include "tests/support/scratch.h"
#include "tests/support/shared_data.h"

namespace weft {
namespace {

using namespace test;

using Ids = std::vector<int32_t>;

TokenizerPtr train(const TokenizerConfig& config, std::vector<std::string_view> texts, int threads = 2) {
  return test::train_tokenizer(config, texts, threads);
}

std::string random_bytes(std::mt19937& random, size_t most) {
  std::string text;
  for (size_t n = random() % (most + 1); n > 0; --n) {
    text += random() % 3 == 0 ? static_cast<char>(random()) : "the cat 12\n'"[random() % 12];
  }
  return text;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

constexpr std::string_view kText = "the cat sat on the mat; the cat's hat, the bat that sat: 12 cats, 12 hats\n";

TokenizerConfig bpe_config() {
  return {.kind = TokenizerKind::Bpe, .vocabulary = 268, .specials = {"<s>", "</s>"}, .bos = "<s>", .eos = "</s>"};
}

TEST(Bpe, LearnsEncodesAndDecodes) {
  const auto tokenizer = train(bpe_config(), {kText});
  EXPECT_EQ(tokenizer->kind(), "bpe");
  EXPECT_EQ(tokenizer->special("<s>"), 256);
  EXPECT_EQ(tokenizer->special(SpecialRole::Eos), 257);
  EXPECT_EQ(tokenizer->special("<pad>"), std::nullopt);
  EXPECT_EQ(tokenizer->special(SpecialRole::Pad), std::nullopt);
  EXPECT_TRUE(tokenizer->is_special(257));
  EXPECT_FALSE(tokenizer->is_special(258));
  const Ids ids = tokenizer->encode(kText);
  EXPECT_LT(ids.size(), kText.size() * 2 / 3);
  EXPECT_EQ(tokenizer->decode(ids), kText);
  Ids more = {7};
  tokenizer->encode_append("the", more);
  EXPECT_EQ(more.front(), 7);
  EXPECT_EQ(tokenizer->decode(std::span(more).subspan(1)), "the");
}

TEST(Bpe, RoundTripsAnyBytes) {
  const auto tokenizer = train(bpe_config(), {kText});
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_bytes(random, 80);
    ASSERT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
  std::string all;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(all)), all);
  EXPECT_TRUE(tokenizer->encode("").empty());
}

TEST(Bpe, DoesNotDependOnThreads) {
  std::mt19937 random(2);
  std::string text;
  while (text.size() < (size_t{2} << 20))
    text += std::string(1 + random() % 4, static_cast<char>('a' + random() % 9)) + " ";
  const TokenizerConfig config{.kind = TokenizerKind::Bpe, .merges = 300};
  const auto one = train(config, {text, kText}, 1);
  EXPECT_EQ(train(config, {text, kText}, 2)->hash(), one->hash());
  EXPECT_EQ(train(config, {text, kText}, 5)->to_json(), one->to_json());
}

// The ids of a text do not depend on texts that were encoded before (the cache), nor on other threads that encode.
TEST(Bpe, EncodingDoesNotDependOnThreads) {
  const auto tokenizer = train(bpe_config(), {kText});
  std::mt19937 random(3);
  std::vector<std::string> texts;
  std::vector<Ids> expected;
  for (int i = 0; i < 200; ++i) {
    texts.push_back(random_bytes(random, 200));
    const auto fresh = train(bpe_config(), {kText});
    expected.push_back(i < 20 ? fresh->encode(texts.back()) : tokenizer->encode(texts.back()));
  }
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        for (size_t i = 0; i < texts.size(); ++i) wrong[t] += tokenizer->encode(texts[i]) != expected[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Bpe, HonoursTheSizeAskedFor) {
  EXPECT_EQ(train(bpe_config(), {kText})->vocabulary(), 268);
  EXPECT_EQ(train({.kind = TokenizerKind::Bpe, .merges = 5}, {kText})->vocabulary(), 261);
  EXPECT_EQ(train({.kind = TokenizerKind::Bpe, .vocabulary = 256}, {kText})->vocabulary(), 256);
  const auto all = train({.kind = TokenizerKind::Bpe, .min_frequency = 1}, {"abab abab"});
  EXPECT_EQ(all->encode("abab").size(), 1u);
  EXPECT_EQ(train({.kind = TokenizerKind::Bpe, .pattern = "none"}, {"x yx y"})->encode("x yx y").size(), 2u);
}

TEST(Specials, AreFoundInTextOnlyWhenAskedFor) {
  TokenizerConfig config{.kind = TokenizerKind::Bytes, .specials = {"<a>", "<a><b>", "<b>"}};
  const auto tokenizer = train(config, {});
  EXPECT_EQ(tokenizer->encode("<a>"), (Ids{'<', 'a', '>'}));
  const EncodeOptions on{.recognise_specials = true};
  EXPECT_EQ(tokenizer->encode("x<a>y<b>", on), (Ids{'x', 256, 'y', 258}));
  EXPECT_EQ(tokenizer->encode("<a><b><a>", on), (Ids{257, 256}));  // the longest name wins
  EXPECT_EQ(tokenizer->encode("<a", on), (Ids{'<', 'a'}));
  EXPECT_EQ(tokenizer->encode("", on), Ids{});
  EXPECT_EQ(tokenizer->decode(Ids{'x', 256, 'y'}), "xy");
  EXPECT_EQ(tokenizer->decode(Ids{'x', 256, 'y'}, {.show_specials = true}), "x<a>y");
}

TEST(Tokenizer, RefusesUnknownIds) {
  const auto tokenizer = train({.kind = TokenizerKind::Bytes}, {});
  for (int32_t id : {-1, 256, INT32_MAX, INT32_MIN}) {
    EXPECT_NE(message_of([&] {
                (void)tokenizer->decode(Ids{65, id});
              }).find(fmt::format("id {} at place 1 stands for no token (vocabulary 256)", id)),
              std::string::npos);
  }
}

TEST(Bytes, AreThemselves) {
  const auto tokenizer = train({.kind = TokenizerKind::Bytes, .specials = {"<pad>"}, .pad = "<pad>"}, {});
  EXPECT_EQ(tokenizer->kind(), "bytes");
  EXPECT_EQ(tokenizer->vocabulary(), 257);
  EXPECT_EQ(tokenizer->encode("A\xFF"), (Ids{65, 255}));
  EXPECT_EQ(tokenizer->decode(Ids{65, 255}), "A\xFF");
  EXPECT_EQ(tokenizer->special(SpecialRole::Pad), 256);
}

TEST(Chars, AreSortedByCodePoint) {
  const auto tokenizer =
      train({.kind = TokenizerKind::Chars, .specials = {"<eos>"}, .eos = "<eos>"}, {"bé", "a中a\xFF"});
  EXPECT_EQ(tokenizer->kind(), "chars");
  EXPECT_EQ(tokenizer->vocabulary(), 6);
  EXPECT_EQ(tokenizer->encode("abé中\xFF"), (Ids{0, 1, 2, 3, 4}));  // a byte that is not UTF-8 is a symbol of its own
  EXPECT_EQ(tokenizer->special("<eos>"), 5);
  EXPECT_EQ(tokenizer->decode(Ids{4, 3, 0}), "\xFF中a");
}

TEST(Chars, RefuseOrReplaceTheUnknown) {
  const auto strict = train({.kind = TokenizerKind::Chars}, {"ab"});
  const std::string message = message_of([&] { (void)strict->encode("abéa"); });
  EXPECT_NE(message.find("unknown \"é\" at byte 2"), std::string::npos) << message;
  const TokenizerConfig config{.kind = TokenizerKind::Chars, .specials = {"?"}, .unk = "?"};
  const auto lenient = train(config, {"ab"});
  EXPECT_EQ(lenient->encode("abéa"), (Ids{0, 1, 2, 0}));
  EXPECT_EQ(lenient->decode(Ids{0, 2}), "a?");  // unk is shown, since it replaces text
  const std::string offset = message_of([&] {
    (void)train({.kind = TokenizerKind::Chars, .specials = {"a"}}, {"b"})->encode("babx", {.recognise_specials = true});
  });
  EXPECT_NE(offset.find("\"x\" at byte 3"), std::string::npos) << offset;
}

TEST(Words, AreSortedByFrequency) {
  const TokenizerConfig config{.kind = TokenizerKind::Words, .min_frequency = 2, .specials = {"<unk>"}, .unk = "<unk>"};
  const auto tokenizer = train(config, {"b a  b\nc\u00a0a d b", "d"});
  EXPECT_EQ(tokenizer->kind(), "words");
  EXPECT_EQ(tokenizer->vocabulary(), 4);  // <unk>, b (3), a (2, seen first), d (2)
  EXPECT_EQ(tokenizer->encode("a b c d"), (Ids{2, 1, 0, 3}));
  EXPECT_EQ(tokenizer->decode(Ids{2, 0, 1}), "a <unk> b");
  TokenizerConfig small = config;
  small.vocabulary = 2;
  EXPECT_EQ(train(small, {"b a b a b"})->encode("a b"), (Ids{0, 1}));
  const auto all = train({.kind = TokenizerKind::Words, .min_frequency = 1}, {"x y"});
  EXPECT_NE(message_of([&] { (void)all->encode("x zz"); }).find("unknown \"zz\" at byte 2"), std::string::npos);
}

TEST(Words, FormsAreOneWord) {
  TokenizerConfig config{
      .kind = TokenizerKind::Words, .lowercase = true, .strip_punctuation = true, .min_frequency = 1};
  // Counts: the 3 (seen first), storm 2, won't 1, \u00e9t\u00e9 1.
  const auto both = train(config, {"The storm, (won't) -- \u00c9T\u00c9!", "the \u00abSTORM\u00bb the"});
  EXPECT_EQ(both->vocabulary(), 4);
  EXPECT_EQ(both->encode("THE storm... won't; \u00e9t\u00e9"), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(both->encode("-- ?!"), Ids{});
  EXPECT_EQ(both->decode(Ids{0, 1, 2, 3}), "the storm won't \u00e9t\u00e9");
  EXPECT_NE(message_of([&] { (void)both->encode("the \"Wind\""); }).find("unknown \"wind\" at byte 4"),
            std::string::npos);
  config.strip_punctuation = false;
  EXPECT_EQ(train(config, {"The the, the \xFFThe"})->decode(Ids{0, 1, 2}), "the the, \xFFThe");  // not valid UTF-8
  config.lowercase = false, config.strip_punctuation = true;
  EXPECT_EQ(train(config, {"The the, the"})->decode(Ids{0, 1}), "the The");
}

// Three sentences whose words are counted by hand: 30 words, 25 of them different between white space, 23 without
// punctuation and case.
TEST(Words, ThreeSentencesHaveTwentyThree) {
  const std::vector<std::string> sentences = {"I drink and I know things.",
                                              "When you play the game of thrones, you win or you die.",
                                              "The true enemy won't wait out the storm, He brings the storm."};
  TokenizerConfig config{.kind = TokenizerKind::Words, .min_frequency = 1};
  EXPECT_EQ(train(config, {sentences[0], sentences[1], sentences[2]})->vocabulary(), 25);
  config.lowercase = config.strip_punctuation = true;
  const auto tokenizer = train(config, {sentences[0], sentences[1], sentences[2]});
  EXPECT_EQ(tokenizer->vocabulary(), 23);
  size_t words = 0;
  for (const std::string& sentence : sentences) words += tokenizer->encode(sentence).size();
  EXPECT_EQ(words, 30u);
}

TEST(Chars, GiveNanoGptsIds) {
  if (!has_shared_data("text/tinyshakespeare.txt")) GTEST_SKIP() << needs("text/tinyshakespeare.txt");
  const std::string text = read_file(shared_data("text/tinyshakespeare.txt"));
  const auto tokenizer = train({.kind = TokenizerKind::Chars}, {text});
  EXPECT_EQ(tokenizer->vocabulary(), 65);
  EXPECT_EQ(tokenizer->encode("\n z"), (Ids{0, 1, 64}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

TEST(TokenizerConfig, SaysWhatDoesNotFit) {
  const auto fails = [](TokenizerConfig config, const std::string& part) {
    const std::string message = message_of([&] { config.check(); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  using enum TokenizerKind;
  fails({.kind = Gpt2}, "kind gpt2 needs `vocab_file`");
  fails({.kind = Gpt2, .vocab_file = "v"}, "needs `merges_file`");
  fails({.kind = Tiktoken}, "needs `ranks_file`");
  fails({.kind = Bpe, .ranks_file = "r"}, "kind bpe reads no `ranks_file`");
  fails({.kind = Bpe, .vocabulary = 300, .merges = 4}, "both given");
  fails({.kind = Bpe, .vocabulary = 257, .specials = {"a", "b"}}, "no room for 2 specials and the 256 bytes");
  fails({.kind = Chars, .vocabulary = 30}, "is not chosen");
  fails({.kind = Words, .merges = 30}, "learns no merges");
  fails({.kind = Words}, "leaves out rare words");
  fails({.kind = Bpe, .lowercase = true}, "kind bpe has no words");
  fails({.kind = Chars, .strip_punctuation = true}, "kind chars has no words");
  fails({.kind = Bpe, .min_frequency = 0}, "min_frequency 0");
  fails({.kind = Bpe, .pattern = "("}, "pattern \"(\"");
  fails({.kind = Bpe, .specials = {"a", "a"}}, "\"a\" is listed twice");
  fails({.kind = Bpe, .specials = {""}}, "name is empty");
  fails({.kind = Bpe, .eos = "x"}, "eos is \"x\", which is not one of `specials`");
  fails({.kind = Bpe, .specials = {"x"}, .unk = "x"}, "knows every byte");
  EXPECT_NO_THROW(bpe_config().check());
}

TEST(TokenizerTrainer, NeedsTextWhereItLearns) {
  EXPECT_NE(message_of([] { train({.kind = TokenizerKind::Bpe}, {}); }).find("no text"), std::string::npos);
  EXPECT_NE(message_of([] { train({.kind = TokenizerKind::Chars}, {""}); }).find("no text"), std::string::npos);
  EXPECT_TRUE(TokenizerTrainer(bpe_config(), 1).needs_text());
  EXPECT_FALSE(TokenizerTrainer({.kind = TokenizerKind::Bytes}, 1).needs_text());
}

// GPT-2's and GPT-4's files against tiktoken.

std::string read_text(const fs::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files as they are
  std::string text, buffer(1 << 16, '\0');
  for (int n; (n = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0;)
    text.append(buffer, 0, static_cast<size_t>(n));
  gzclose(file);
  return text;
}

class Published : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_shared_data("gpt2/vocab.json")) GTEST_SKIP() << needs("gpt2/vocab.json");
    if (!has_shared_data("tiktoken/cl100k_base.tiktoken")) GTEST_SKIP() << needs("tiktoken/cl100k_base.tiktoken");
    tokenizer_ = GetParam() == "gpt2" ? test::load_gpt2(shared_data("gpt2/vocab.json"), shared_data("gpt2/merges.txt"))
                                      : test::load_tiktoken(shared_data("tiktoken/cl100k_base.tiktoken"));
  }
  const nlohmann::json& golden() const { return tokenizer_golden()["encodings"][GetParam()]; }
  TokenizerPtr tokenizer_;
};

TEST_P(Published, GivesTiktokensIdsOfStrings) {
  const auto& strings = tokenizer_golden()["strings"];
  for (size_t i = 0; i < strings.size(); ++i) {
    const auto text = strings[i].get<std::string>();
    EXPECT_EQ(tokenizer_->encode(text), golden()["strings"][i].get<Ids>()) << strings[i];
    EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text)), text);
  }
}

TEST_P(Published, GivesTiktokensIdsOfEveryCodePoint) {
  const auto utf8 = [](uint32_t c) {
    std::string s;
    if (c < 0x80) return s += static_cast<char>(c);
    if (c < 0x800) return (s += static_cast<char>(0xC0 | c >> 6)) += static_cast<char>(0x80 | (c & 63));
    s += static_cast<char>(c < 0x10000 ? 0xE0 | c >> 12 : 0xF0 | c >> 18);
    if (c >= 0x10000) s += static_cast<char>(0x80 | (c >> 12 & 63));
    return (s += static_cast<char>(0x80 | (c >> 6 & 63))) += static_cast<char>(0x80 | (c & 63));
  };
  Ids ids;
  for (uint32_t block = 0; block < 0x110; ++block) {
    uint64_t hash = kEmptyIdsHash;
    for (uint32_t c = block * 4096; c < (block + 1) * 4096; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      const std::string x = utf8(c);
      ids.clear();
      tokenizer_->encode_append("a" + x + "b '" + x + " " + x + x + "1" + x + "\n" + x + " ", ids);
      for (int32_t id : ids) hash = ids_hash(static_cast<uint64_t>(id), hash);
    }
    ASSERT_EQ(std::to_string(hash), golden()["code_points"][block]) << "code points from " << block * 4096;
  }
}

TEST_P(Published, GivesTiktokensIdsOfTexts) {
  for (const auto& [name, expected] : golden()["texts"].items()) {
    if (!has_shared_data(name)) continue;
    const std::string text = read_text(shared_data(name));
    const Ids ids = tokenizer_->encode(text);
    uint64_t hash = kEmptyIdsHash;
    for (int32_t id : ids) hash = ids_hash(static_cast<uint64_t>(id), hash);
    EXPECT_EQ(Ids(ids.begin(), ids.begin() + 16), expected["first"].get<Ids>()) << name;
    EXPECT_EQ(ids.size(), expected["count"]) << name;
    EXPECT_EQ(std::to_string(hash), expected["hash"]) << name;
    EXPECT_EQ(tokenizer_->decode(ids), text) << name;
  }
}

TEST_P(Published, SurvivesSavingAndLoading) {
  const auto copy = Tokenizer::from_json(tokenizer_->to_json(), "copy");
  EXPECT_EQ(copy->hash(), tokenizer_->hash());
  EXPECT_EQ(copy->vocabulary(), tokenizer_->vocabulary());
  EXPECT_EQ(copy->specials(), tokenizer_->specials());
  EXPECT_EQ(copy->special(SpecialRole::Eos), tokenizer_->special("<|endoftext|>"));
  for (const auto& text : tokenizer_golden()["strings"]) {
    ASSERT_EQ(copy->encode(text.get<std::string>()), tokenizer_->encode(text.get<std::string>()));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Published, testing::Values("gpt2", "cl100k"),
                         [](const auto& info) { return info.param; });

TEST(Gpt2, GivesTheIdsOfTiktoken) {
  if (!has_shared_data("gpt2/vocab.json")) GTEST_SKIP() << needs("gpt2/vocab.json");
  const auto tokenizer = test::load_gpt2(shared_data("gpt2/vocab.json"), shared_data("gpt2/merges.txt"));
  EXPECT_EQ(tokenizer->encode("what is transformer language model"), (Ids{10919, 318, 47385, 3303, 2746}));
  EXPECT_EQ(tokenizer->special("<|endoftext|>"), 50256);
  EXPECT_EQ(tokenizer->vocabulary(), 50257);
  EXPECT_EQ(tokenizer->encode("a<|endoftext|>", {.recognise_specials = true}), (Ids{64, 50256}));
  EXPECT_EQ(tokenizer->encode("<|endoftext|>").size(), 7u);
}

// The rank file of the same tokens does not say how text is cut; its ids are the same.
TEST(Gpt2, GivesTheSameIdsFromItsRankFile) {
  if (!has_shared_data("gpt2/vocab.json")) GTEST_SKIP() << needs("gpt2/vocab.json");
  const auto merges = test::load_gpt2(shared_data("gpt2/vocab.json"), shared_data("gpt2/merges.txt"));
  const Scratch scratch;
  std::string text;
  for (int32_t id = 0; id < 50256; ++id) text += test::base64(merges->decode(Ids{id})) + fmt::format(" {}\n", id);
  write_file_atomically(scratch.path() / "r50k_base.tiktoken", text);
  const auto ranks = test::load_tiktoken(scratch.path() / "r50k_base.tiktoken");
  EXPECT_EQ(ranks->special(SpecialRole::Eos), 50256);
  EXPECT_EQ(ranks->encode("1234567890 12 3.14"), merges->encode("1234567890 12 3.14"));
  const auto& strings = tokenizer_golden()["strings"];
  for (size_t i = 0; i < strings.size(); ++i) {
    ASSERT_EQ(ranks->encode(strings[i].get<std::string>()),
              tokenizer_golden()["encodings"]["gpt2"]["strings"][i].get<Ids>())
        << strings[i];
  }
}

TEST(Tiktoken, GivesTheIdsOfTiktoken) {
  if (!has_shared_data("tiktoken/cl100k_base.tiktoken")) GTEST_SKIP() << needs("tiktoken/cl100k_base.tiktoken");
  const auto tokenizer = test::load_tiktoken(shared_data("tiktoken/cl100k_base.tiktoken"));
  EXPECT_EQ(tokenizer->encode("Do no harm."), (Ids{5519, 912, 11682, 13}));
  EXPECT_EQ(tokenizer->decode(Ids{77002}), "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  EXPECT_EQ(tokenizer->decode(Ids{57950}), " NullPointerException");
  for (int32_t id : {87644, 63570, 77621, 77002, 57950, 59862, 87378}) EXPECT_GT(tokenizer->decode(Ids{id}).size(), 6u);
  EXPECT_EQ(tokenizer->vocabulary(), 100277);
  EXPECT_EQ(tokenizer->special("<|endoftext|>"), 100257);
  EXPECT_EQ(tokenizer->special("<|fim_suffix|>"), 100260);
  EXPECT_EQ(tokenizer->special("<|endofprompt|>"), 100276);
  EXPECT_THROW((void)tokenizer->decode(Ids{100261}), DataError);  // a gap in the ids
}

TEST(Gpt2, TakesMoreSpecialsAndRoles) {
  if (!has_shared_data("gpt2/vocab.json")) GTEST_SKIP() << needs("gpt2/vocab.json");
  TokenizerConfig config{.kind = TokenizerKind::Gpt2,
                         .vocab_file = shared_data("gpt2/vocab.json"),
                         .merges_file = shared_data("gpt2/merges.txt"),
                         .specials = {"<pad>", "<|endoftext|>"},
                         .bos = "<|endoftext|>",
                         .pad = "<pad>"};
  const auto tokenizer = train(config, {});
  EXPECT_EQ(tokenizer->special("<pad>"), 50257);
  EXPECT_EQ(tokenizer->special(SpecialRole::Bos), 50256);
  EXPECT_EQ(tokenizer->special(SpecialRole::Pad), 50257);
  EXPECT_EQ(tokenizer->vocabulary(), 50258);
  config.pad = "<none>";
  EXPECT_NE(message_of([&] { train(config, {}); }).find("pad is \"<none>\", which is no special"), std::string::npos);
}

}  // namespace
}  // namespace weft
