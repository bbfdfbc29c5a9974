// SPDX-License-Identifier: Apache-2.0
// GPT-2 directories imported to checkpoints: the logits and ids are Hugging Face's, whatever form the weights have,
// and every mistake in a directory is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/transfer.h"
#include "tests/exchange/fixture/gpt2.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

double logits_differ(const fs::path& directory, const Scratch& scratch, const std::string& name) {
  fs::remove_all(scratch / "imported");
  import_hugging_face(directory, scratch / "imported", {{"version", "test"}});
  ImportedModel model(scratch / "imported");
  return logits_differ(model, golden()["cases"][name]);
}

TEST(Gpt2Import, LogitsEqualTransformers) {
  const Scratch scratch;
  for (const auto& [name, golden_case] : golden()["cases"].items()) {
    EXPECT_LT(logits_differ(Gpt2Directory(name).write(scratch), scratch, name), 1e-4) << name;
  }
}

struct Gpt2Forms : testing::Test {
  double differ(const Gpt2Directory& directory) const {
    return logits_differ(directory.write(scratch), scratch, golden()["cases"].begin().key());
  }
  Scratch scratch;
};

TEST_F(Gpt2Forms, NamesWithoutPrefixMasksAndACopiedHead) {
  Gpt2Directory directory(golden()["cases"].begin().key(), false);
  directory.tensors.push_back({"h.0.attn.bias", StoredType::F32, {1, 1, 32, 32}});
  directory.tensors.push_back({"h.1.attn.masked_bias", StoredType::F32, {}});
  directory.tensors.push_back({"lm_head.weight", StoredType::F32, {268, 16}});
  directory.copied["lm_head.weight"] = "transformer.wte.weight";
  EXPECT_LT(differ(directory), 1e-4);
}

TEST_F(Gpt2Forms, BFloat16) {
  Gpt2Directory directory;
  for (TensorToStore& t : directory.tensors) t.type = StoredType::BF16;  // exact: see golden_weight()
  EXPECT_LT(differ(directory), 1e-4);
}

TEST_F(Gpt2Forms, Shards) {
  const Gpt2Directory directory;
  const fs::path path = directory.write(scratch);
  fs::remove(path / "model.safetensors");
  Json map = Json::object();
  for (size_t i = 0; i < 3; ++i) {
    const std::string file = fmt::format("model-{:05}-of-00003.safetensors", i + 1);
    std::vector<TensorToStore> some;
    for (size_t k = i; k < directory.tensors.size(); k += 3) {
      some.push_back(directory.tensors[k]);
      map[some.back().name] = file;
    }
    directory.write_tensors(path / file, some);
  }
  write_file_atomically(path / "model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  EXPECT_LT(logits_differ(path, scratch, golden()["cases"].begin().key()), 1e-4);
}

// More rows than tokens, as in padded models: the rows stay, and become reserved tokens.
TEST_F(Gpt2Forms, PaddedVocabulary) {
  Gpt2Directory directory;
  directory.config["vocab_size"] = 272;
  directory.tensor("wte.weight").shape = {272, 16};
  import_hugging_face(directory.write(scratch), scratch / "imported", {});
  const ImportedModel model(scratch / "imported");
  EXPECT_EQ(model.loaded.target_tokenizer->vocabulary(), 272);
  EXPECT_EQ(model.loaded.target_tokenizer->special("<|reserved_271|>"), 271);
  EXPECT_EQ(model.loaded.target_tokenizer->special(SpecialRole::Eos), 267);
}

void expect_refusals(const std::vector<Refusal<Gpt2Directory>>& refusals) {
  test::expect_refusals<Gpt2Directory>([] { return Gpt2Directory(); }, refusals);
}

TEST(Gpt2Import, TensorsThatDoNotFitAreRefusedByName) {
  expect_refusals({
      {[](auto& d) { d.remove("h.1.mlp.c_fc.bias"); }, "tensor transformer.h.1.mlp.c_fc.bias is missing"},
      {[](auto& d) { d.remove("wte.weight"); }, "tensor transformer.wte.weight is missing"},
      {[](auto& d) {
         d.tensors.push_back({"transformer.h.0.attn.rotary", StoredType::F32, {1}});
       },
       "tensor transformer.h.0.attn.rotary is no tensor of the GPT-2 that config.json describes"},
      {[](auto& d) {
         d.tensors.push_back({"transformer.h.2.ln_1.weight", StoredType::F32, {16}});
       },
       "tensor transformer.h.2.ln_1.weight is no tensor"},
      {[](auto& d) {
         d.tensors.push_back({"h.0.ln_1.weight", StoredType::F32, {16}});
       },
       "tensor h.0.ln_1.weight is no tensor"},
      {[](auto& d) {
         d.tensor("h.0.mlp.c_fc.weight").shape = {64, 16};
       },
       "tensor transformer.h.0.mlp.c_fc.weight has shape [64, 16], but config.json makes it [16, 64]"},
      {[](auto& d) { d.tensor("h.1.attn.c_attn.bias").shape = {16}; }, "has shape [16], but config.json makes it [48]"},
      {[](auto& d) {
         d.tensors.push_back({"lm_head.weight", StoredType::F32, {268, 16}});
       },
       "tensor lm_head.weight differs from transformer.wte.weight"},
      {field("tie_word_embeddings", false), "tensor lm_head.weight is missing"},
      {field("n_layer", 3), "tensor transformer.h.2."},
      {field("vocab_size", 300), "wte.weight has shape [268, 16], but config.json makes it [300, 16]"},
  });
}

TEST(Gpt2Import, ConfigurationsThatWeftCannotHaveAreRefusedByName) {
  expect_refusals({
      {field("model_type", "bert"), "model_type: \"bert\" cannot be represented"},
      {field("architectures", Json::array({"GPT2ForSequenceClassification"})), "architectures: "},
      {field("activation_function", "quick_gelu"), "activation_function: \"quick_gelu\" cannot be represented"},
      {field("activation_function", 7), "activation_function: 7 cannot"},
      {field("scale_attn_weights", false), "scale_attn_weights: false cannot"},
      {field("scale_attn_by_inverse_layer_idx", true), "scale_attn_by_inverse_layer_idx: true cannot"},
      {field("reorder_and_upcast_attn", true), "reorder_and_upcast_attn: true cannot"},
      {field("add_cross_attention", true), "add_cross_attention: true cannot"},
      {field("quantization_config", Json::object({{"bits", 8}})), "quantization_config"},
      {field("layer_norm_epsilon", 0), "model.norm_epsilon"},
      {field("layer_norm_epsilon", "small"), "layer_norm_epsilon: expected a number"},
      {field("n_head", 3), "model.heads: 3 does not divide"},
      {field("n_head", 0), "model.heads"},
      {field("n_embd", -16), "n_embd: expected a size, got -16"},
      {field("n_layer", 1e9), "n_layer: expected a size"},
      {field("n_layer", 1000000000), "model.layers"},
      {field("resid_pdrop", 0.99), "model.dropout.residual"},
      {field("tie_word_embeddings", "yes"), "tie_word_embeddings: expected true or false"},
  });
}

TEST(Gpt2Import, OtherTokenizersAreRefusedByName) {
  const auto json = [](const char* change) {
    Json whole = {{"added_tokens", Json::array()},
                  {"normalizer", nullptr},
                  {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                  {"post_processor", nullptr},
                  {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", Json::array()}}}};
    whole.merge_patch(Json::parse(change));
    return file("tokenizer.json", whole.dump());
  };
  expect_refusals({
      {[](auto& d) { d.files.clear(); }, "neither tokenizer.json nor vocab.json"},
      {[](auto& d) { d.files.erase("merges.txt"); }, "merges.txt"},
      {json(R"({"model":{"type":"WordPiece"}})"), "tokenizer.json: model: type: \"WordPiece\" cannot be represented"},
      {json(R"({"model":{"byte_fallback":true}})"), "pre_tokenizer: {\"add_prefix_space\":false"},
      {json(R"({"model":{"end_of_word_suffix":"</w>"}})"), "model: end_of_word_suffix: \"</w>\" cannot"},
      {json(R"({"model":{"unk_token":"<unk>"}})"), "model: unk_token: \"<unk>\" cannot"},
      {json(R"({"model":{"dropout":0.1}})"), "model: dropout: 0.1 cannot"},
      {json(R"({"model":{"merges":["a"]}})"), "merges[0]: expected two tokens"},
      {json(R"({"model":{"vocab":{"a":-1}}})"), "\"a\": expected an id"},
      {json(R"({"normalizer":{"type":"Lowercase"}})"), "normalizer: {\"type\":\"Lowercase\"} cannot"},
      {json(R"({"pre_tokenizer":{"type":"Whitespace"}})"), "pre_tokenizer: "},
      {json(R"({"pre_tokenizer":{"add_prefix_space":true}})"), "add_prefix_space: true cannot"},
      {json(R"({"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}}]}})"),
       "post_processor: single"},
      {json(R"({"added_tokens":[{"id":1,"content":"<x>","rstrip":true}]})"), "\"<x>\": rstrip: true cannot"},
      {json(R"({"added_tokens":[{"id":1,"content":"a"}]})"), "id 1, but the vocabulary gives it 0"},
      {json(R"({})"), "no token is the single byte 0"},
      {file("tokenizer_config.json", R"({"eos_token":"<eos>"})"), "eos_token \"<eos>\" is no special token"},
      {file("tokenizer_config.json", R"({"eos_token":"a"})"), "eos_token \"a\" is no special token"},
      {file("tokenizer_config.json", R"({"add_bos_token":true})"), "add_bos_token: true cannot"},
      {file("added_tokens.json", R"({"<pad>":300})"), "ids up to 300, the model a vocabulary of 268"},
  });
}

TEST(Gpt2Import, DamagedFilesAreRefused) {
  const Scratch scratch;
  const fs::path path = Gpt2Directory().write(scratch);
  const auto error = [&] { return error_of([&] { import_hugging_face(path, scratch / "out", {}); }); };
  const std::string weights = read_file(path / "model.safetensors");
  scratch.write("hf/model.safetensors", weights.substr(0, weights.size() - 1));
  EXPECT_THAT(error(), HasSubstr("model.safetensors: tensor"));
  scratch.write("hf/model.safetensors", weights);
  scratch.write("hf/config.json", R"({"model_type":"gpt2","n_layer":1,"n_layer":2})");
  EXPECT_THAT(error(), HasSubstr("config.json: \"n_layer\" is there twice"));
  scratch.write("hf/config.json", "[]");
  EXPECT_THAT(error(), HasSubstr("config.json: expected an object"));
  fs::remove(path / "config.json");
  EXPECT_THAT(error(), HasSubstr("config.json"));
  fs::create_directories(scratch / "out");
  EXPECT_THAT(error(), HasSubstr("out: exists already"));
  EXPECT_THAT(error_of([&] { import_hugging_face(scratch / "nowhere", scratch / "new", {}); }),
              HasSubstr("no such directory"));
}

}  // namespace
}  // namespace weft
