// SPDX-License-Identifier: Apache-2.0
// What weft cannot have of a MarianMT, and what is damaged, is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/tokenizer/config.h"
#include "tests/exchange/fixture/marian_directory.h"

namespace weft {
namespace {

using namespace test;

struct MarianRefusals : testing::Test {
  void SetUp() override {
    if (!has_sentencepiece()) GTEST_SKIP() << "without SentencePiece";
  }
};

void expect_marian_refusals(const std::string& name, const std::vector<Refusal<MarianDirectory>>& refusals) {
  test::expect_refusals<MarianDirectory>([name] { return MarianDirectory(name); }, refusals);
}

TEST_F(MarianRefusals, ConfigurationsThatWeftCannotHave) {
  const int64_t pad = MarianDirectory().config["pad_token_id"];
  expect_marian_refusals(
      "shared",
      {{field("architectures", Json::array({"MarianForCausalLM"})), "architectures: "},
       {field("activation_function", "quick_gelu"), "config.json: activation_function: \"quick_gelu\" cannot"},
       {field("normalize_before", true), "normalize_before: true cannot be represented"},
       {field("normalize_embedding", true), "normalize_embedding: true cannot"},
       {field("add_final_layer_norm", true), "add_final_layer_norm: true cannot"},
       {field("static_position_embeddings", false), "static_position_embeddings: false cannot"},
       {field("is_encoder_decoder", false), "is_encoder_decoder: false cannot"},
       {field("encoder_layerdrop", 0.1), "encoder_layerdrop: 0.1 cannot"},
       {field("decoder_attention_heads", 4),
        "decoder_attention_heads: 4 cannot be represented: encoder_attention_heads"},
       {field("decoder_ffn_dim", 16), "decoder_ffn_dim: 16 cannot be represented: encoder_ffn_dim is 24"},
       {field("tie_word_embeddings", false), "tie_word_embeddings: false cannot"},
       {field("decoder_vocab_size", 7), "decoder_vocab_size: 7 cannot be represented: both languages share"},
       {field("decoder_start_token_id", pad + 1), fmt::format("decoder_start_token_id: {} cannot", pad + 1)},
       {field("decoder_start_token_id", 3), "decoder_start_token_id: 3 is neither eos_token_id nor pad_token_id"},
       {field("eos_token_id", 1), "eos_token_id: 1, but eos_token \"</s>\" has id 0"},
       {field("eos_token_id", Json::array({0, 1})), "eos_token_id: expected a size, got [0,1]"},
       {field("pad_token_id", 1), "pad_token_id: 1, but pad_token \"<pad>\" has id"},
       {field("encoder_layers", 4000000000), "model.encoder_layers"},
       {field("dropout", 2), "model.dropout"}});
}

TEST_F(MarianRefusals, VocabulariesThatAreDamaged) {
  const int64_t ids = MarianDirectory("separate, untied").config["vocab_size"];
  const auto vocabulary = [](const std::function<void(Json&)>& change) {
    return [change](MarianDirectory& d) {
      Json json = Json::parse(d.files["vocab.json"]);
      change(json);
      d.files["vocab.json"] = json.dump();
    };
  };
  const auto token = [&](const char* name, const Json& id) { return vocabulary([=](Json& v) { v[name] = id; }); };
  expect_marian_refusals(
      "separate, untied",
      {{token("new", 5), "vocab.json: \"new\": id 5 is that of"},
       {token("new", -1), "vocab.json: \"new\": expected an id of 0 to 16777215, got -1"},
       {token("new", 1.5), "vocab.json: \"new\": expected an id of"},
       {token("new", ids),
        fmt::format("vocab.json: \"new\": id {0}, but config.json gives the model a vocabulary of {0}", ids)},
       {vocabulary([](Json& v) { v = Json::array({"</s>"}); }), "vocab.json: expected an object"},
       {vocabulary([](Json& v) { v.erase("<unk>"); }), "vocab.json: unk_token \"<unk>\" is missing"},
       {file("vocab.json", "{\"a\": 1, \"a\": 2}"), "vocab.json"},
       {[](MarianDirectory& d) { d.files.erase("target.spm"); }, "source.spm is here, but target.spm is missing"},
       {[](MarianDirectory& d) { d.files["source.spm"].resize(900); }, "source.spm: "},
       {[](MarianDirectory& d) { d.files.erase("source.spm"), d.files.erase("vocab.json"); },
        "neither tokenizer.json nor vocab.json is here"},
       {file("tokenizer_config.json", R"({"separate_vocabs":1})"), "separate_vocabs: expected true or false"},
       {file("tokenizer_config.json", R"({"sp_model_kwargs":{"enable_sampling":true}})"), "sp_model_kwargs: "},
       {file("tokenizer_config.json", R"({"added_tokens_decoder":{"9":{"content":"<x>"}}})"),
        "the added token \"<x>\""},
       {file("added_tokens.json", R"({"<x>":9})"), "added_tokens.json: the added token \"<x>\" cannot"},
       {file("tokenizer_config.json", R"({"eos_token":"<end>","separate_vocabs":true})"),
        "eos_token \"<end>\" is missing"}});
  expect_marian_refusals("separate, relu", {{[](MarianDirectory& d) { d.files.erase("target_vocab.json"); },
                                             "target_vocab.json is missing"},
                                            {field("vocab_size", 9), "encoder.embed_tokens.weight has shape"}});
}

// Two vocabularies cannot share one table.
TEST_F(MarianRefusals, AnIdThatStandsForTwoTokens) {
  const auto swap = [](MarianDirectory& d) {
    Json target = Json::parse(d.files["vocab.json"]);
    std::swap(target["e"], target["r"]);
    d.files["target_vocab.json"] = target.dump();
    d.files["tokenizer_config.json"] = R"({"separate_vocabs":true})";
  };
  expect_marian_refusals("shared", {{swap, "config.json: share_encoder_decoder_embeddings: both languages share"}});
}

TEST_F(MarianRefusals, TensorsThatDoNotFit) {
  expect_marian_refusals(
      "shared", {{[](auto& d) { d.remove("model.shared.weight"); }, "tensor model.shared.weight is missing"},
                 {[](auto& d) { d.remove("model.decoder.layers.2.encoder_attn.v_proj.bias"); },
                  "tensor model.decoder.layers.2.encoder_attn.v_proj.bias is missing"},
                 {[](auto& d) {
                    d.tensor("encoder.layers.0.fc1.weight").shape = {16, 24};
                  },
                  "fc1.weight has shape [16, 24], but config.json makes it [24, 16]"},
                 {[](auto& d) {
                    d.tensors.push_back({"model.encoder.layernorm.weight", StoredType::F32, {16}});
                  },
                  "tensor model.encoder.layernorm.weight is no tensor of the MarianMT that config.json describes"},
                 {field("decoder_layers", 2), "tensor model.decoder.layers.2."}});
}

}  // namespace
}  // namespace weft
