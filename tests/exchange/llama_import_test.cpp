// SPDX-License-Identifier: Apache-2.0
// Llama, Mistral, Qwen 2 and 3 and OLMo 2 imported: the logits are Hugging Face's, an export has the same bits and says
// the same of the model, and what weft cannot have is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange/export.h"
#include "tests/exchange/fixture/export.h"
#include "tests/exchange/fixture/llama.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

struct LlamaImport : testing::TestWithParam<std::string> {
  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& [name, golden_case] : llama_golden()["cases"].items()) all.push_back(name);
    return all;
  }
  static const Json& golden_case() { return llama_golden()["cases"][GetParam()]; }
  // The difference of the logits from the stored ones, relative to the largest.
  double differ(const LlamaDirectory& directory) const {
    fs::remove_all(scratch / "imported");
    import_hugging_face(directory.write(scratch), scratch / "imported", {{"version", "test"}});
    ImportedModel model(scratch / "imported");
    double largest = 0;
    for (const Json& row : golden_case()["logits"]) {
      for (const double logit : row) largest = std::max(largest, std::abs(logit));
    }
    return logits_differ(model, golden_case()) / largest;
  }
  Json exported_config() const { return Json::parse(read_file(scratch / "out" / "config.json")); }

  Scratch scratch;
};

TEST_P(LlamaImport, LogitsEqualTransformers) { EXPECT_LT(differ(LlamaDirectory(GetParam())), 1e-5); }

TEST_P(LlamaImport, NamesWithoutPrefixAndWavelengths) {
  LlamaDirectory directory(GetParam(), false);
  directory.tensors.push_back({"layers.0.self_attn.rotary_emb.inv_freq", StoredType::F32, {2}});
  EXPECT_LT(differ(directory), 1e-5);
}

TEST_P(LlamaImport, RoundTripsAreExact) {
  for (const StoredType type : {StoredType::F32, StoredType::BF16}) {
    LlamaDirectory directory(GetParam());
    for (TensorToStore& t : directory.tensors) t.type = type;
    fs::remove_all(scratch / "imported"), fs::remove_all(scratch / "out");
    import_hugging_face(directory.write(scratch), scratch / "imported", {});
    export_model(scratch / "imported", scratch / "out", {}, {});
    EXPECT_EQ(contents(scratch / "out" / "model.safetensors"), contents(scratch / "hf" / "model.safetensors"));
  }
}

// An export that is imported again has the same job; a model without a window of its own is a Llama, whatever it was.
TEST_P(LlamaImport, ExportsDescribeTheSameModel) {
  import_hugging_face(LlamaDirectory(GetParam()).write(scratch), scratch / "imported", {});
  export_model(scratch / "imported", scratch / "out", {}, {});
  import_hugging_face(scratch / "out", scratch / "again", {});
  ImportedModel before(scratch / "imported"), after(scratch / "again");
  EXPECT_EQ(to_yaml(before.loaded.job.model.with_derived_sizes()),
            to_yaml(after.loaded.job.model.with_derived_sizes()));
  const Json theirs = golden_case()["config"], ours = exported_config();
  const bool plain_mistral = theirs["model_type"] == "mistral" && theirs["sliding_window"].is_null();
  EXPECT_EQ(ours["model_type"], plain_mistral ? Json("llama") : theirs["model_type"]);
  for (const char* field : {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                            "intermediate_size", "max_position_embeddings", "rms_norm_eps", "tie_word_embeddings",
                            "vocab_size", "hidden_act", "attention_bias", "mlp_bias", "layer_types"}) {
    if (!theirs.contains(field) || !ours.contains(field)) continue;
    EXPECT_EQ(ours[field], theirs[field]) << field;
  }
}

std::string plain_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::string(1, c) : "";
  return name;
}
INSTANTIATE_TEST_SUITE_P(Families, LlamaImport, testing::ValuesIn(LlamaImport::names()), plain_name);

void expect_refusals(const std::string& name, const std::vector<Refusal<LlamaDirectory>>& refusals) {
  test::expect_refusals<LlamaDirectory>([name] { return LlamaDirectory(name); }, refusals);
}

TEST(LlamaFiles, ConfigurationsThatWeftCannotHaveAreRefusedByName) {
  const auto rotary = [](const Json& parameters) { return field("rope_parameters", parameters); };
  expect_refusals(
      "llama",
      {{field("model_type", "phi3"), "model_type: \"phi3\" cannot be represented: weft imports gpt2, llama, mistral"},
       {field("architectures", Json::array({"LlamaForSequenceClassification"})), "architectures: "},
       {field("quantization_config", Json::object({{"bits", 4}})), "quantization_config"},
       {field("hidden_act", "relu2"), "hidden_act: \"relu2\" cannot be represented"},
       {field("attention_bias", true), "attention_bias: true cannot be represented: mlp_bias has another value"},
       {field("partial_rotary_factor", 0.5), "partial_rotary_factor: 0.5 cannot"},
       {rotary({{"rope_type", "yarn"}, {"factor", 4}}), "rope_parameters: rope_type: \"yarn\" cannot be represented"},
       {rotary({{"rope_type", 3}}), "rope_parameters: rope_type: expected a text, got 3"},
       {rotary({{"rope_type", "linear"}, {"factor", 0}}), "model.rotary.factor"},
       {rotary("none"), "rope_parameters: expected an object"},
       {field("num_key_value_heads", 3), "model.kv_heads: 3 does not divide"},
       {field("num_hidden_layers", 4000000000), "model.layers"},
       {field("rms_norm_eps", 0), "model.norm_epsilon"}});
  expect_refusals("qwen 2", {{field("attention_bias", true), "attention_bias: true cannot"}});
  expect_refusals(
      "qwen 3, layers slide in turn",
      {{field("layer_types", Json::array({"sliding_attention"})), "layer_types: [\"sliding_attention\"]"},
       {field("layer_types", Json::array({"sliding_attention", "linear_attention"})),
        "layer 1 is neither sliding_attention nor full_attention"},
       {[](LlamaDirectory& d) { d.config.erase("layer_types"), d.config["num_hidden_layers"] = 4000000000; },
        "model.layers"}});
}

TEST(LlamaFiles, TensorsThatDoNotFitAreRefusedByName) {
  expect_refusals(
      "llama", {{[](auto& d) { d.remove("layers.1.self_attn.k_proj.weight"); },
                 "tensor model.layers.1.self_attn.k_proj.weight is missing"},
                {[](auto& d) {
                   d.tensors.push_back({"model.layers.0.self_attn.q_norm.weight", StoredType::F32, {4}});
                 },
                 "tensor model.layers.0.self_attn.q_norm.weight is no tensor of the Llama that config.json describes"},
                {[](auto& d) {
                   d.tensor("layers.0.mlp.up_proj.weight").shape = {16, 24};
                 },
                 "mlp.up_proj.weight has shape [16, 24], but config.json makes it [24, 16]"},
                {field("num_key_value_heads", 4), "k_proj.weight has shape [8, 16], but config.json makes it [16, 16]"},
                {field("tie_word_embeddings", true), "tensor lm_head.weight differs from model.embed_tokens.weight"}});
}

// The fields that files of transformers 4 have in another place, or leave out.
TEST(LlamaFiles, OlderFilesSayTheSame) {
  const Scratch scratch;
  const auto model_of = [&](const Json& config) {
    LlamaDirectory directory("llama, tied, scaled as Llama 3");
    directory.config = config;
    fs::remove_all(scratch / "imported");
    import_hugging_face(directory.write(scratch), scratch / "imported", {});
    return to_yaml(ImportedModel(scratch / "imported").loaded.job.model.with_derived_sizes());
  };
  const Json now = llama_golden()["cases"]["llama, tied, scaled as Llama 3"]["config"];
  Json then = now;
  then["rope_theta"] = now["rope_parameters"]["rope_theta"];
  then["rope_scaling"] = now["rope_parameters"];
  then["rope_scaling"].erase("rope_theta");
  for (const char* field : {"rope_parameters", "head_dim", "attention_bias", "mlp_bias"}) then.erase(field);
  EXPECT_EQ(model_of(then), model_of(now));
}

// A Mistral whose file does not speak of its window has one of 4,096 tokens; null means none.
TEST(LlamaFiles, AWindowThatIsNotStatedIsTheFamilys) {
  const Scratch scratch;
  LlamaDirectory directory("mistral, window");
  const auto windows = [&] {
    fs::remove_all(scratch / "imported");
    import_hugging_face(directory.write(scratch), scratch / "imported", {});
    return ImportedModel(scratch / "imported").loaded.job.model.attention_windows;
  };
  EXPECT_EQ(windows(), std::vector<int64_t>{5});
  directory.config.erase("sliding_window");
  EXPECT_EQ(windows(), std::vector<int64_t>{4096});
  directory.config["sliding_window"] = nullptr;
  EXPECT_EQ(windows(), std::vector<int64_t>{});
}

}  // namespace
}  // namespace weft
