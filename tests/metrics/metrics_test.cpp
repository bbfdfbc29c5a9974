#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "data/tokenizer/unicode_properties.h"
#include "data/tokenizer/utf8.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

using Json = nlohmann::json;

const Json& golden() {
  static const Json json = Json::parse(read_file(source_dir() / "tests/metrics/metrics.json"));
  return json;
}

template <class E>
E enum_of(const std::string& name) {
  for (const auto& [text, value] : EnumNames<E>::kNames) {
    if (text == name) return value;
  }
  throw std::runtime_error("no such name: " + name);
}

// sacreBLEU's line with our version in place of its own.
std::string with_our_version(std::string line) {
  const std::string theirs = "version:" + golden()["sacrebleu"].get<std::string>();
  return line.replace(line.find(theirs), theirs.size(), std::string("version:") + kMetricsVersion);
}

BleuConfig bleu_config(const Json& json) {
  BleuConfig config;
  config.tokenizer = enum_of<BleuTokenizer>(json.value("tokenize", "13a"));
  config.lowercase = json.value("lowercase", false);
  config.smoothing = enum_of<BleuSmoothing>(json.value("smooth_method", "exp"));
  if (json.contains("smooth_value") && !json["smooth_value"].is_null()) config.smooth_value = json["smooth_value"];
  config.effective_order = json.value("effective_order", false);
  config.max_order = json.value("max_ngram_order", 4);
  return config;
}

ChrfConfig chrf_config(const Json& json) {
  const auto flag = [&](const char* name) { return json.value(name, 0) != 0; };
  return {.char_order = json.value("char_order", 6),
          .word_order = json.value("word_order", 0),
          .beta = json.value("beta", 2),
          .lowercase = flag("lowercase"),
          .whitespace = flag("whitespace"),
          .eps_smoothing = flag("eps_smoothing")};
}

using Lines = std::vector<std::string>;

TEST(Bleu, EqualsSacrebleuInScorePrecisionsLengthsAndLine) {
  int compared = 0;
  for (const Json& corpus : golden()["corpora"]) {
    const auto hypotheses = corpus["hypotheses"].get<Lines>();
    const auto references = corpus["references"].get<std::vector<Lines>>();
    for (const Json& expected : corpus["bleu"]) {
      SCOPED_TRACE(corpus["name"].get<std::string>() + " " + expected["config"].dump());
      const BleuScore score = corpus_bleu(hypotheses, references, bleu_config(expected["config"]));
      EXPECT_NEAR(score.score, expected["score"].get<double>(), 1e-9);
      EXPECT_NEAR(score.brevity_penalty, expected["bp"].get<double>(), 1e-12);
      EXPECT_EQ(score.hypothesis_length, expected["hyp_len"].get<int64_t>());
      EXPECT_EQ(score.reference_length, expected["ref_len"].get<int64_t>());
      EXPECT_EQ(score.signature, with_our_version(expected["signature"]));
      EXPECT_EQ(score.format(), with_our_version(expected["line"]));
      ASSERT_EQ(score.precisions.size(), expected["precisions"].size());
      for (size_t n = 0; n < score.precisions.size(); ++n) {
        EXPECT_NEAR(score.precisions[n], expected["precisions"][n].get<double>(), 1e-9);
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 20 * 23);
}

TEST(Chrf, EqualsSacrebleu) {
  int compared = 0;
  for (const Json& corpus : golden()["corpora"]) {
    const auto hypotheses = corpus["hypotheses"].get<Lines>();
    const auto references = corpus["references"].get<std::vector<Lines>>();
    for (const Json& expected : corpus["chrf"]) {
      SCOPED_TRACE(corpus["name"].get<std::string>() + " " + expected["config"].dump());
      const ChrfScore score = corpus_chrf(hypotheses, references, chrf_config(expected["config"]));
      EXPECT_NEAR(score.score, expected["score"].get<double>(), 1e-9);
      EXPECT_EQ(score.format(), with_our_version(expected["line"]));
      ++compared;
    }
  }
  EXPECT_EQ(compared, 20 * 14);
}

Lines tokens_of(const std::string& tokenizer, std::string_view line) {
  Lines out;
  for (const auto& token : tokenize_for_bleu(enum_of<BleuTokenizer>(tokenizer), decode_utf8(line))) {
    out.push_back(encode_utf8(token));
  }
  return out;
}

TEST(BleuTokenizers, EqualSacrebleuOnLines) {
  for (const Json& line : golden()["tokens"]) {
    for (const auto& [name, tokens] : line["tokens"].items()) {
      EXPECT_EQ(tokens_of(name, line["line"].get<std::string>()), tokens.get<Lines>()) << name << ": " << line["line"];
    }
  }
}

std::string fill(const char* pattern, const std::string& c) {
  std::string text = pattern;
  for (size_t at = text.find("{0}"); at != text.npos; at = text.find("{0}", at + c.size())) text.replace(at, 3, c);
  return text;
}

uint32_t crc(const std::string& text) { return crc32(0, reinterpret_cast<const Bytef*>(text.data()), text.size()); }

// All code points, but every 16th alone of the planes that hold no character of a class.
std::vector<std::string> characters_from(char32_t first) {
  const int step = first < 0x32000 || first == 0xE0000 ? 1 : 16;
  std::vector<std::string> out;
  for (char32_t c = first; c < first + 4096; c += step) {
    if (c < 0xD800 || c >= 0xE000) out.push_back(encode_utf8(std::u32string(1, c)));
  }
  return out;
}

TEST(BleuTokenizers, EqualSacrebleuOnEveryCodePoint) {
  char32_t first = 0;
  for (const Json& expected : golden()["code_points"]) {
    const std::vector<std::string> characters = characters_from(first);
    for (const char* name : {"13a", "intl", "char"}) {
      std::string lines;
      for (const std::string& c : characters) {
        lines += lines.empty() ? "" : "\n";
        const char* before = "";
        for (const std::string& token : tokens_of(name, fill("a{0}b 1{0}2 a{0}1 1{0}b {0} {0}{0} .{0}, {0}.{0}", c))) {
          lines += before + token;
          before = " ";
        }
      }
      EXPECT_EQ(crc(lines), expected[name].get<uint32_t>()) << name << " from " << static_cast<uint32_t>(first);
    }
    std::string lowered;
    for (const std::string& c : characters) {
      lowered += lowered.empty() ? "" : "\n";
      lowered += encode_utf8(to_lower(decode_utf8(fill("{0} A{0} Α{0}Σ AΣ{0}B", c))));
    }
    EXPECT_EQ(crc(lowered), expected["lower"].get<uint32_t>()) << "lower from " << static_cast<uint32_t>(first);
    first += 4096;
  }
  EXPECT_EQ(first, char32_t{0x110000});
}

TEST(Unicode, InvalidBytesBecomeReplacementCharacters) {
  for (const Json& expected : golden()["damaged"]) {
    std::string bytes;
    const std::string hex = expected["hex"];
    for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    EXPECT_EQ(encode_utf8(decode_utf8(bytes)), expected["text"].get<std::string>()) << hex;
  }
}

TEST(Bleu, InvalidUtf8IsScoredAsReplacementCharacters) {
  const Lines damaged{"a b \xff c d"}, replaced{"a b \xEF\xBF\xBD c d"};
  const std::vector<Lines> references{replaced};
  EXPECT_DOUBLE_EQ(corpus_bleu(damaged, references).score, 100.0);
}

TEST(Bleu, WarnsOfMoreThanAHundredTokenisedLines) {
  Lines hypotheses(100, "It is tokenised .");
  hypotheses.push_back("It is not.");
  EXPECT_EQ(corpus_bleu(hypotheses, std::vector<Lines>{hypotheses}).warning(), "");
  hypotheses.push_back("But this is .");
  const std::string warning = corpus_bleu(hypotheses, std::vector<Lines>{hypotheses}).warning();
  EXPECT_NE(warning.find("101 of 102 hypotheses"), std::string::npos) << warning;
  EXPECT_EQ(corpus_bleu(hypotheses, std::vector<Lines>{hypotheses}, {.tokenizer = BleuTokenizer::None}).warning(), "");
}

template <class Score>
std::string error_of(Score score) {
  try {
    score();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Bleu, RefusesUnequalLineCountsAndNothing) {
  const Lines two{"a", "b"}, three{"a", "b", "c"}, none;
  EXPECT_EQ(error_of([&] {
              corpus_bleu(two, std::vector<Lines>{two, three});
            }),
            "BLEU: reference 2 has 3 lines, the hypotheses 2");
  EXPECT_EQ(error_of([&] { corpus_bleu(none, std::vector<Lines>{none}); }), "BLEU: there is no hypothesis to score");
  EXPECT_EQ(error_of([&] { corpus_bleu(two, std::vector<Lines>{}); }), "BLEU: there is no reference to compare with");
  EXPECT_EQ(error_of([&] { corpus_chrf(two, std::vector<Lines>{three}); }),
            "chrF2: reference 1 has 3 lines, the hypotheses 2");
  EXPECT_EQ(error_of([&] { corpus_chrf(none, std::vector<Lines>{none}); }), "chrF2: there is no hypothesis to score");
  EXPECT_EQ(error_of([&] { corpus_chrf(two, std::vector<Lines>{}); }), "chrF2: there is no reference to compare with");
}

TEST(Bleu, JsonHoldsWhatTheLineSays) {
  const Lines text{"the cat sat on the mat"};
  const Json json = corpus_bleu(text, std::vector<Lines>{text});
  EXPECT_NEAR(json["score"].get<double>(), 100, 1e-9);
  EXPECT_EQ(json["signature"], "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:weft-1");
  EXPECT_EQ(json["matches"], Json({6, 5, 4, 3}));
  EXPECT_EQ(json["hypothesis_length"], 6);
  const Json chrf = corpus_chrf(text, std::vector<Lines>{text}, {.word_order = 2});
  EXPECT_EQ(chrf["name"], "chrF2++");
  EXPECT_NEAR(chrf["score"].get<double>(), 100, 1e-9);
}

}  // namespace
}  // namespace weft
