// SPDX-License-Identifier: Apache-2.0
// MarianMT directories imported to checkpoints: ids, logits and greedy texts are those of transformers, and an export
// has the same bits and the same ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "data/prepare/prepare.h"
#include "data/tokenizer/config.h"
#include "data/tokenizer/same_ids.h"
#include "exchange/export.h"
#include "generate/text_generator.h"
#include "job/dataset_checks.h"
#include "tests/exchange/fixture/export.h"
#include "tests/exchange/fixture/marian.h"
#include "tests/exchange/fixture/marian_directory.h"

namespace weft {
namespace {

using namespace test;
using MarianIds = std::vector<int32_t>;

// The tests of a build without SentencePiece are those of weft's own exports.
struct MarianFiles : testing::Test {
  void SetUp() override {
    if (!has_sentencepiece()) GTEST_SKIP() << "without SentencePiece";
  }
  ImportedModel imported(const MarianDirectory& directory) const {
    fs::remove_all(scratch / "imported");
    import_hugging_face(directory.write(scratch), scratch / "imported", {{"version", "test"}});
    return ImportedModel(scratch / "imported");
  }
  TensorContents round_trip() const {
    fs::remove_all(scratch / "out");
    export_model(scratch / "imported", scratch / "out", {}, {});
    return contents(scratch / "out" / "model.safetensors");
  }

  Scratch scratch;
};

struct MarianImport : MarianFiles, testing::WithParamInterface<std::string> {
  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& [name, golden_case] : marian_import_golden()["cases"].items()) all.push_back(name);
    return all;
  }
  static const Json& golden_case() { return marian_import_golden()["cases"][GetParam()]; }
  // The difference of the logits from the stored ones, relative to the largest.
  static double differ(ImportedModel& model) {
    const auto source = golden_case()["source"].get<MarianIds>(), text = golden_case()["text"].get<MarianIds>();
    double worst = 0, largest = 0;
    for (size_t i = 0; i < marian_import_golden()["positions"].size(); ++i) {
      const int64_t position = marian_import_golden()["positions"][i];
      const auto expected = golden_case()["logits"][i].get<std::vector<float>>();
      const std::vector<float> found = model.logits({text.begin(), text.begin() + position + 1}, source);
      EXPECT_EQ(found.size(), expected.size());
      for (size_t v = 0; v < expected.size(); ++v) {
        worst = std::max(worst, std::abs(static_cast<double>(found[v]) - expected[v]));
        largest = std::max(largest, std::abs(static_cast<double>(expected[v])));
      }
    }
    return worst / largest;
  }
};

TEST_P(MarianImport, LogitsEqualTransformers) {
  ImportedModel model = imported(MarianDirectory(GetParam()));
  EXPECT_LT(differ(model), 1e-5);
  EXPECT_EQ(model.loaded.job.task, Task::Translation);
}

TEST_P(MarianImport, GreedyTextsAreThoseOfTransformers) {
  ImportedModel model = imported(MarianDirectory(GetParam()));
  const TextGenerator generator = text_generator(model.loaded);
  const SearchConfig greedy{.method = SearchMethod::Greedy,
                            .max_length_factor = 0,
                            .max_length_extra = marian_import_golden()["new_tokens"].get<int64_t>()};
  const auto sentences = marian_import_golden()["sentences"].get<std::vector<std::string>>();
  const std::vector<NBest> found = generator.generate(sentences, greedy);
  for (size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_EQ(generator.text(found[i].front()), golden_case()["generated"][i].get<std::string>()) << sentences[i];
  }
}

TEST_P(MarianImport, RoundTripsAreExact) {
  for (const StoredType type : {StoredType::F32, StoredType::BF16}) {
    MarianDirectory directory(GetParam());
    for (TensorToStore& t : directory.tensors) t.type = type;
    const ImportedModel before = imported(directory);
    EXPECT_EQ(round_trip(), contents(scratch / "hf" / "model.safetensors"));
    for (const char* file : {"vocab.json", "target_vocab.json"}) {
      if (!directory.files.contains(file)) continue;
      EXPECT_EQ(nlohmann::json::parse(read_file(scratch / "out" / file)), nlohmann::json::parse(directory.files[file]));
    }
    for (const char* file : {"source.spm", "target.spm"}) {
      EXPECT_EQ(read_file(scratch / "out" / file), directory.files[file]);
    }
    fs::remove_all(scratch / "again");
    import_hugging_face(scratch / "out", scratch / "again", {});
    const ImportedModel after(scratch / "again");
    EXPECT_EQ(after.loaded.source_tokenizer->hash(), before.loaded.source_tokenizer->hash());
    EXPECT_EQ(after.loaded.target_tokenizer->hash(), before.loaded.target_tokenizer->hash());
    EXPECT_EQ(to_yaml(after.loaded.job.model), to_yaml(before.loaded.job.model));
  }
}

std::string marian_case_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::string(1, c) : "";
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cases, MarianImport, testing::ValuesIn(MarianImport::names()), marian_case_name);

// Both languages' ids, also of pieces that only the other's model has, of languages, and after saving and loading.
TEST_F(MarianFiles, IdsAreThoseOfMarianTokenizer) {
  for (const auto& [name, golden_case] : {std::pair{"shared", "shared"}, {"separate", "separate, relu"}}) {
    const ImportedModel model = imported(MarianDirectory(golden_case));
    const auto check = [&](const char* side, const Tokenizer& tokenizer) {
      const TokenizerPtr copy = Tokenizer::from_json(tokenizer.to_json(), "copy");
      EXPECT_EQ(copy->hash(), tokenizer.hash());
      for (size_t i = 0; i < marian_import_golden()["strings"].size(); ++i) {
        const std::string text = marian_import_golden()["strings"][i];
        MarianIds ids = copy->encode(text);
        ids.push_back(*tokenizer.special(SpecialRole::Eos));
        EXPECT_EQ(ids, marian_import_golden()["ids"][name][side][i].get<MarianIds>()) << side << ": " << text;
      }
    };
    check("source", *model.loaded.source_tokenizer);
    check("target", *model.loaded.target_tokenizer);
    EXPECT_TRUE(model.loaded.job.data.source_eos);
    EXPECT_FALSE(model.loaded.job.data.source_bos);
  }
}

// Ids of one table mean the same in both languages, although each encodes by its own model.
TEST_F(MarianFiles, OneVocabularyIsSharedByTwoTokenizers) {
  const ImportedModel shared = imported(MarianDirectory("shared"));
  EXPECT_NE(shared.loaded.source_tokenizer->hash(), shared.loaded.target_tokenizer->hash());
  EXPECT_TRUE(have_same_ids(*shared.loaded.source_tokenizer, *shared.loaded.target_tokenizer));
  EXPECT_EQ(shared.loaded.target_tokenizer->special(SpecialRole::Bos),
            shared.loaded.target_tokenizer->special("<pad>"));
  const ImportedModel separate = imported(MarianDirectory("separate, relu"));
  EXPECT_FALSE(have_same_ids(*separate.loaded.source_tokenizer, *separate.loaded.target_tokenizer));
}

// The text to finetune on: sources end as MarianTokenizer ends them, and targets begin with the token of
// decoder_start_token_id. A dataset of two vocabularies does not fit a model whose languages share a table.
TEST_F(MarianFiles, ADatasetOfBothTokenizersFitsTheSharedTable) {
  const auto dataset_of = [&](const MarianDirectory& directory, const std::string& name) {
    JobConfig job = imported(directory).loaded.job;
    job.data.format = TextFormat::Tsv, job.data.directory = scratch / name;
    job.data.train.files = {scratch.write("text.tsv", "the boat.\tden.\nthe man.\ten mann.\n")};
    job.data.tokenizer_file = scratch / "imported" / "source-tokenizer.json";
    job.data.target_tokenizer_file = scratch / "imported" / "target-tokenizer.json";
    prepare(job.text());
    return std::pair(job, Dataset::open(job.data.directory, DataSplit::Train));
  };
  const auto [job, dataset] = dataset_of(MarianDirectory("shared"), "shared");
  EXPECT_NO_THROW(check_job_against(job, dataset));
  MarianIds source(dataset.source_length(0)), target(dataset.target_length(0));
  dataset.read_source(0, source), dataset.read_target(0, target);
  EXPECT_EQ(source.back(), 0);
  EXPECT_EQ(target.front(), MarianDirectory().config["pad_token_id"].get<int32_t>());
  EXPECT_EQ(target.back(), 0);
  const auto [untied, two] = dataset_of(MarianDirectory("separate, relu"), "separate");
  EXPECT_NO_THROW(check_job_against(untied, two));
  EXPECT_THAT(error_of([&] { check_job_against(job, two); }), testing::HasSubstr("has two tokenizers"));
}

// Files of earlier versions hold the sinusoids, and tied tensors once more.
TEST_F(MarianFiles, TensorsOfEarlierVersionsMayBeThere) {
  MarianDirectory directory;
  const int64_t ids = directory.config["vocab_size"];
  const std::string positions = "model.encoder.embed_positions.weight";
  directory.tensors.push_back({positions, StoredType::F32, {2, 4}});
  directory.filled[positions] = {0, 0, 1, 1, 0.8415f, 0.01f, 0.5403f, 0.99995f};
  for (const char* name :
       {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"}) {
    directory.tensors.push_back({name, StoredType::F32, {ids, 16}});
    directory.copied[name] = "model.shared.weight";
  }
  EXPECT_NO_THROW(imported(directory));
  directory.filled[positions][1] = 0.5f;
  EXPECT_THAT(
      error_of([&] { imported(directory); }),
      testing::HasSubstr("embed_positions.weight: its row 0 has 0.5 in column 1, and MarianMT has 0.000 there"));
  directory.filled[positions][1] = 0;
  directory.copied.erase("model.decoder.embed_tokens.weight");
  EXPECT_THAT(error_of([&] { imported(directory); }),
              testing::HasSubstr("model.decoder.embed_tokens.weight differs from model.shared.weight, to which "
                                 "config.json ties it (share_encoder_decoder_embeddings)"));
}

// Makes halves of the fp32 values of a file. They represent all of them: zero, or from 2^-14 on.
void write_as_halves(const fs::path& path) {
  const SafetensorsFile file(path);
  Json header = Json::object();
  std::string data;
  for (const StoredTensor& t : file.header().tensors) {
    std::vector<float> values(static_cast<size_t>(t.shape.elements()));
    file.read(t, values);
    const size_t begin = data.size();
    for (const float value : values) {
      const auto bits = std::bit_cast<uint32_t>(value);
      const uint32_t size = value == 0 ? 0 : ((bits >> 23 & 0xFF) - 112) << 10 | (bits >> 13 & 0x3FF);
      const uint32_t half = (bits >> 16 & 0x8000) | size;
      data += {static_cast<char>(half & 0xFF), static_cast<char>(half >> 8)};
    }
    const auto dims = t.shape.dims();
    header[t.name] = {{"dtype", "F16"},
                      {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                      {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  const uint64_t length = text.size();
  write_file_atomically(path, std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text + data);
}

TEST_F(MarianFiles, HalfPrecisionIsReadExactly) {
  const fs::path directory = MarianDirectory().write(scratch);
  const TensorContents whole = contents(directory / "model.safetensors");
  write_as_halves(directory / "model.safetensors");
  EXPECT_EQ(contents(directory / "model.safetensors").at("model.shared.weight").first.substr(0, 3), "F16");
  import_hugging_face(directory, scratch / "imported", {});
  EXPECT_EQ(round_trip(), whole);
}

// The class without the output product has neither its bias nor the prefix.
TEST_F(MarianFiles, AMissingBiasOfTheLogitsIsZeros) {
  MarianDirectory directory;
  directory.remove("final_logits_bias");
  for (TensorToStore& t : directory.tensors) t.name.erase(0, directory.prefix.size());
  directory.config["architectures"] = Json::array({"MarianModel"});
  imported(directory);
  const auto bias = round_trip().at("final_logits_bias").second;
  EXPECT_EQ(bias, std::string(bias.size(), '\0'));
}

// A directory as weft exports a model with a BPE of both languages.
TEST(MarianOwnExport, ComesBackWithItsWeightsAndIds) {
  const Scratch scratch;
  JobConfig job = marian_job();
  job.data.source_eos = true;
  const TokenizerPtr tokenizer = tokenizer_of({.kind = TokenizerKind::Bpe,
                                               .merges = 1,
                                               .specials = {"<s>", "</s>", "<p>"},
                                               .bos = "<s>",
                                               .eos = "</s>",
                                               .pad = "<p>"});
  write_model(scratch / "model", job, *tokenizer,
              [](const std::string& name, size_t place) { return golden_weight(name, static_cast<uint32_t>(place)); });
  export_model(scratch / "model", scratch / "out", {}, {});
  import_hugging_face(scratch / "out", scratch / "imported", {});
  export_model(scratch / "imported", scratch / "again", {}, {});
  EXPECT_EQ(contents(scratch / "again" / "model.safetensors"), contents(scratch / "out" / "model.safetensors"));
  for (const char* file : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}) {
    EXPECT_EQ(read_file(scratch / "again" / file), read_file(scratch / "out" / file)) << file;
  }
  const ImportedModel model(scratch / "imported");
  EXPECT_EQ(model.loaded.source_tokenizer->hash(), tokenizer->hash());
  EXPECT_TRUE(model.loaded.job.data.source_eos);
  EXPECT_FALSE(model.loaded.job.data.source_bos);
}

}  // namespace
}  // namespace weft
