// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/text/unicode_properties.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/metric_table.h"
#include "tests/metrics/fixture/every_code_point.h"
#include "tests/metrics/fixture/stored_scores.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

const StoredScores& golden() {
  static const StoredScores stored("metrics.json");
  return stored;
}

template <class E>
E enum_of(const std::string& name) {
  for (const auto& [text, value] : EnumNames<E>::kNames) {
    if (text == name) return value;
  }
  throw std::runtime_error("no such name: " + name);
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

TEST(Bleu, EqualsSacrebleuInScorePrecisionsLengthsAndLine) {
  const auto compare = [](const Lines& hypotheses, const std::vector<Lines>& references, const Json& expected) {
    const auto metric = std::make_shared<Bleu>(bleu_config(expected["config"]));
    const CorpusScore corpus(metric, hypotheses, references);
    const BleuScore score = metric->summarise(corpus.sums());
    EXPECT_NEAR(score.score, expected["score"].get<double>(), 1e-9);
    EXPECT_NEAR(score.brevity_penalty, expected["bp"].get<double>(), 1e-12);
    EXPECT_EQ(score.hypothesis_length, expected["hyp_len"].get<int64_t>());
    EXPECT_EQ(score.reference_length, expected["ref_len"].get<int64_t>());
    EXPECT_EQ(corpus.signature(), golden().with_our_version(expected["signature"]));
    EXPECT_EQ(corpus.format(), golden().with_our_version(expected["line"]));
    ASSERT_EQ(score.precisions.size(), expected["precisions"].size());
    for (size_t n = 0; n < score.precisions.size(); ++n) {
      EXPECT_NEAR(score.precisions[n], expected["precisions"][n].get<double>(), 1e-9);
    }
  };
  EXPECT_EQ(golden().for_each("bleu", compare), 20 * 23);
}

TEST(Chrf, EqualsSacrebleu) {
  const auto compare = [](const Lines& hypotheses, const std::vector<Lines>& references, const Json& expected) {
    const CorpusScore score(std::make_shared<Chrf>(chrf_config(expected["config"])), hypotheses, references);
    EXPECT_NEAR(score.score(), expected["score"].get<double>(), 1e-9);
    EXPECT_EQ(score.format(), golden().with_our_version(expected["line"]));
  };
  EXPECT_EQ(golden().for_each("chrf", compare), 20 * 14);
}

TEST(BleuTokenizers, EqualSacrebleuOnLines) {
  for (const Json& line : golden()["tokens"]) {
    for (const auto& [name, tokens] : line["tokens"].items()) {
      const auto tokenizer = enum_of<BleuTokenizer>(name);
      EXPECT_EQ(tokens_of(tokenizer, line["line"].get<std::string>()), tokens.get<Lines>())
          << name << ": " << line["line"];
    }
  }
}

TEST(BleuTokenizers, EqualSacrebleuOnEveryCodePoint) {
  char32_t first = 0;
  for (const Json& expected : golden()["code_points"]) {
    const std::vector<std::string> characters = characters_from(first);
    for (const char* name : {"13a", "intl", "char"}) {
      EXPECT_EQ(crc_of_tokens(enum_of<BleuTokenizer>(name), characters), expected[name].get<uint32_t>())
          << name << " from " << static_cast<uint32_t>(first);
    }
    std::string lowered;
    for (const std::string& c : characters) {
      lowered += lowered.empty() ? "" : "\n";
      lowered += encode_utf8(to_lower(decode_utf8(fill("{0} A{0} Α{0}Σ AΣ{0}B", c))));
    }
    EXPECT_EQ(crc(lowered), expected["lower"].get<uint32_t>()) << "lower from " << static_cast<uint32_t>(first);
    first += kCodePointsOfOneChecksum;
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
  EXPECT_DOUBLE_EQ(CorpusScore(std::make_shared<Bleu>(), damaged, references).score(), 100.0);
}

TEST(Bleu, WarnsOfMoreThanAHundredTokenisedLines) {
  Lines hypotheses(100, "It is tokenised .");
  hypotheses.push_back("It is not.");
  EXPECT_EQ(Bleu().warning(hypotheses), "");
  hypotheses.push_back("But this is .");
  const std::string warning = Bleu().warning(hypotheses);
  EXPECT_NE(warning.find("101 of 102 hypotheses"), std::string::npos) << warning;
  EXPECT_EQ(Bleu({.tokenizer = BleuTokenizer::None}).warning(hypotheses), "");
}

TEST(CorpusScore, RefusesUnequalLineCountsAndNothing) {
  const Lines two{"a", "b"}, three{"a", "b", "c"}, none;
  for (const MetricEntry& entry : metric_table()) {
    const std::shared_ptr<const Metric> metric = make_metric(entry, {});
    const auto refused = [&](const Lines& hypotheses, const std::vector<Lines>& references) {
      return error_of([&] { CorpusScore(metric, hypotheses, references); });
    };
    EXPECT_EQ(refused(two, {two, three}), metric->name() + ": reference 2 has 3 lines, the hypotheses 2");
    EXPECT_EQ(refused(none, {none}), metric->name() + ": there is no hypothesis to score");
    EXPECT_EQ(refused(two, {}), metric->name() + ": there is no reference to compare with");
  }
}

TEST(CorpusScore, JsonHoldsWhatTheLineSays) {
  const Lines text{"the cat sat on the mat"};
  const nlohmann::ordered_json json = CorpusScore(std::make_shared<Bleu>(), text, std::vector<Lines>{text});
  EXPECT_EQ(json["name"], "BLEU");
  EXPECT_NEAR(json["score"].get<double>(), 100, 1e-9);
  EXPECT_EQ(json["signature"], "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:weft-1");
  EXPECT_EQ(json["matches"], nlohmann::ordered_json({6, 5, 4, 3}));
  EXPECT_EQ(json["hypothesis_length"], 6);
  EXPECT_EQ(json["lines"], 1);
}

// A metric must have the direction and options of its entry in the table, and its figures must be sums over lines.
TEST(MetricTable, EveryMetricKeepsItsPromises) {
  const Lines right{"The cat sat on the mat.", "A dog ran home today."}, wrong{"An owl.", "It rained all day long."};
  const std::vector<Lines> references{right};
  std::set<std::string_view> names;
  for (const MetricEntry& entry : metric_table()) {
    SCOPED_TRACE(std::string(entry.name));
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_EQ(&find_metric(entry.name), &entry);
    const std::shared_ptr<const Metric> metric = make_metric(entry, {});
    const CorpusScore best(metric, right, references), worst(metric, wrong, references);
    EXPECT_EQ(best.score() < worst.score(), entry.better == Better::Lower);
    EXPECT_EQ(best.sums().size(), metric->num_statistics());
    EXPECT_EQ(best.format().find(metric->name() + "|nrefs:1|"), 0u) << best.format();
    for (const ConfigDoc& field : entry.fields()) {
      if (field.value == "null") continue;  // not given
      const MetricSettings as_it_is{{std::string(entry.option), {field.key + "=" + field.value}}};
      EXPECT_EQ(CorpusScore(make_metric(entry, as_it_is), wrong, references).format(), worst.format()) << field.key;
    }
    const MetricSettings unknown{{std::string(entry.option), {"x=1"}}};
    EXPECT_THAT(error_of([&] { make_metric(entry, unknown); }),
                HasSubstr(fmt::format("--{} x=1: x: unknown key", entry.option)));
  }
  EXPECT_THAT(error_of([] { find_metric("rouge"); }), HasSubstr("there is no metric rouge"));
  EXPECT_THAT(error_of([] { find_metric("rouge"); }), HasSubstr("bleu, chrf, chrf++, ter, cer"));
}

TEST(MetricTable, ChrfPlusPlusIsChrfWithPairsOfWords) {
  const MetricSettings settings{{"chrf", {"lowercase=true", "word_order=1"}}};
  EXPECT_EQ(make_metric(find_metric("chrf"), settings)->name(), "chrF2+");
  EXPECT_EQ(make_metric(find_metric("chrf++"), settings)->name(), "chrF2++");
  EXPECT_EQ(format_signature(make_metric(find_metric("chrf++"), settings)->settings()),
            "case:lc|eff:yes|nc:6|nw:2|space:no");
}

}  // namespace
}  // namespace weft
