// SPDX-License-Identifier: Apache-2.0
// What models attend to in a text, and the files that say so.
#include "evaluate/attention_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hdf5.h"
#include "evaluate/attention_files.h"
#include "tests/evaluate/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/guarded_context.h"

namespace weft {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kEnough = 1 << 20;

// A language model of characters with 8 positions, one layer and two heads.
struct AttendedText : testing::Test {
  AttendedText() { run.train(); }
  LoadedModel load(Context& on) { return load_model(on, mesh, run.directory()); }

  Scratch scratch;
  SmallRun run{scratch};
  Context context{Device{}, 1};
  Mesh mesh = Mesh::single();
};

TEST_F(AttendedText, HasAMapForEachLayer) {
  const LoadedModel model = load(context);
  const AttentionMaps found = text_attention(model, {.text = "the boat", .most_weights = kEnough}).maps;
  EXPECT_TRUE(found.source.ids.empty());
  EXPECT_THAT(found.text.texts, ElementsAre("t", "h", "e", " ", "b", "o", "a", "t"));
  ASSERT_EQ(found.maps.size(), 1u);
  const AttentionMap& map = found.maps[0];
  EXPECT_EQ(map.kind, AttentionKind::Decoder);
  EXPECT_EQ(std::vector({map.heads, map.queries, map.keys}), (std::vector<int64_t>{2, 8, 8}));
  for (int64_t h = 0; h < 2; ++h) {
    double entropy = 0;
    for (int64_t i = 0; i < 8; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < 8; ++j) {
        const double w = map.head(h)[i * 8 + j];
        EXPECT_TRUE(j <= i || w == 0);
        if (w > 0) entropy -= w * std::log(w) / 8;
        sum += w;
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
    EXPECT_NEAR(map.entropy[h], entropy, 1e-12);
  }
  for (size_t i = 0; i < 64; ++i) EXPECT_FLOAT_EQ(map.mean[i], (map.head(0)[i] + map.head(1)[i]) / 2);
}

TEST_F(AttendedText, IsTheSameOnADeviceThatTheHostCannotTouch) {
  const auto guarded = guarded_context();
  const LoadedModel here = load(context), there = load(*guarded);
  const AttentionQuestion question{.text = "the boat", .most_weights = kEnough};
  EXPECT_EQ(text_attention(here, question).maps.maps[0].weights, text_attention(there, question).maps.maps[0].weights);
}

TEST_F(AttendedText, MustFitTheModelAndTheFile) {
  const LoadedModel model = load(context);
  const auto error = [&](const AttentionQuestion& question) {
    return error_of([&] { text_attention(model, question); });
  };
  EXPECT_EQ(error({.text = "the boats", .most_weights = kEnough}),
            "the text has 9 tokens; the model has 8 positions [shorten it]");
  EXPECT_EQ(
      error({.text = "the boat", .most_weights = 127}),
      "8 tokens have 128 attention weights in all layers and heads; at most 127 can be written [shorten the text, "
      "or write HDF5 alone (--out FILE.h5), which may have more of them]");
  EXPECT_THAT(error({.text = "the", .translation = "boat", .most_weights = kEnough}), HasSubstr("a language model"));
}

TEST_F(AttendedText, IsWrittenOnceAndNotOver) {
  const LoadedModel model = load(context);
  const TextAttention found = text_attention(model, {.text = "the boat", .most_weights = kEnough});
  const fs::path json = scratch / "a.json", hdf5 = scratch / "a.h5", taken = scratch.write("taken", "mine");
  write_attention_json(json, found);
  write_attention_hdf5(hdf5, found);
  for (const auto write : {write_attention_json, write_attention_hdf5}) {
    EXPECT_THAT(error_of<DataError>([&] { write(taken, found); }), HasSubstr("taken is there already"));
  }
  EXPECT_EQ(read_file(taken), "mine");
  EXPECT_EQ(read_file(json), attention_json(found));

  const auto said = nlohmann::json::parse(read_file(json));
  EXPECT_EQ(said["text"]["text"], "the boat");
  EXPECT_EQ(said["text"]["tokens"][4]["text"], "b");
  const AttentionMap& map = found.maps.maps[0];
  EXPECT_NEAR(said["attention"][0]["heads"][1][7][2].get<double>(), map.head(1)[58], 1e-7);
  EXPECT_EQ(said["attention"][0]["kind"], "decoder");

  const Hdf5File file = Hdf5File::open(hdf5);
  const Hdf5Array array = file.array("/decoder/weights");
  EXPECT_THAT(array.shape, ElementsAre(1, 2, 8, 8));
  std::vector<float> weights(128);
  File(hdf5, File::Mode::Read).read_at(array.offset, weights.data(), array.bytes);
  EXPECT_EQ(weights, map.weights);
  EXPECT_THAT(file.children("/"), ElementsAre("decoder", "text"));
}

// Texts may be anything: JSON has them in ASCII, and parts of characters as U+FFFD.
TEST(AttentionJson, IsAsciiWhateverTheTextsAre) {
  const std::string hostile("\0\x1b[31m\xc2\x9b\xe2\x80\xae\xff\xed\xa0\x80</script><!--", 28);
  TextAttention found{.model = hostile, .source = hostile, .text = hostile};
  found.maps.source = found.maps.text = {.ids = {1}, .texts = {hostile}};
  const std::string line = attention_json(found);
  for (const char c : line.substr(0, line.size() - 1)) EXPECT_TRUE(c >= ' ' && c <= '~') << int{c};
  EXPECT_THAT(nlohmann::json::parse(line)["text"]["text"].get<std::string>(), HasSubstr("\xe2\x80\xae\xef\xbf\xbd"));
}

TEST_F(BleuRun, AttentionOfATranslationHasThreeKinds) {
  train();
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  const LoadedModel model = load_model(context, mesh, job.run_directory());
  const TextAttention own = text_attention(model, {.text = "x1y2", .most_weights = kEnough});
  const TextAttention given = text_attention(model, {.text = "x1y2", .translation = own.text, .most_weights = kEnough});
  EXPECT_EQ(attention_json(own), attention_json(given));
  ASSERT_EQ(given.maps.maps.size(), 3u);
  EXPECT_THAT(given.maps.source.texts, ElementsAre("x", "1", "y", "2", "</s>"));
  EXPECT_EQ(given.maps.text.texts.front(), "<s>");
  const int64_t written = std::ssize(given.maps.text.ids);
  for (size_t k = 0; k < 3; ++k) {
    const AttentionMap& map = given.maps.maps[k];
    EXPECT_EQ(map.kind, static_cast<AttentionKind>(k));
    EXPECT_EQ(map.queries, map.kind == AttentionKind::Encoder ? 5 : written);
    EXPECT_EQ(map.keys, map.kind == AttentionKind::Decoder ? written : 5);
  }
  ASSERT_TRUE(given.alignment);
  EXPECT_EQ(given.alignment->source.words, std::vector<std::string>{"x1y2"});
  write_attention_hdf5(scratch / "a.h5", given);
  EXPECT_THAT(Hdf5File::open(scratch / "a.h5").children("/"),
              ElementsAre("alignment", "cross", "decoder", "encoder", "source", "text"));
  EXPECT_THAT(error_of([&] { text_attention(model, {.text = " ", .most_weights = kEnough}); }), HasSubstr("is blank"));
}

}  // namespace
}  // namespace weft
