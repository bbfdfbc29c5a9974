// SPDX-License-Identifier: Apache-2.0
// Checkpoints exported to GPT-2 directories: bit for bit the imported weights, from any layout; models that GPT-2 or
// the files cannot represent are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config/writer.h"
#include "checkpoint/parameters.h"
#include "checkpoint/reader.h"
#include "checkpoint/whole_writer.h"
#include "checkpoint/writer.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "data/tokenizer/trainer.h"
#include "exchange/export.h"
#include "job/merge.h"
#include "job/migration.h"
#include "kernels/transfer.h"
#include "parallel/local/in_process.h"
#include "tests/exchange/fixture/export.h"
#include "tests/exchange/fixture/gpt2.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

struct Gpt2Export : testing::Test {
  fs::path imported(const Gpt2Directory& directory = Gpt2Directory()) const {
    import_hugging_face(directory.write(scratch), scratch / "imported", {{"version", "test"}});
    return scratch / "imported";
  }
  std::map<std::string, std::pair<std::string, std::string>> exported(const fs::path& checkpoint,
                                                                      std::optional<StoredType> dtype = {}) const {
    fs::remove_all(scratch / "out");
    export_model(checkpoint, scratch / "out", dtype, {{"version", "test"}});
    return contents(scratch / "out" / "model.safetensors");
  }
  Json exported_json(const std::string& name) const { return Json::parse(read_file(scratch / "out" / name)); }

  Scratch scratch;
};

TEST_F(Gpt2Export, RoundTripsAreExact) {
  for (const auto& [name, golden_case] : golden()["cases"].items()) {
    for (const StoredType type : {StoredType::F32, StoredType::BF16}) {
      Gpt2Directory directory(name);
      for (TensorToStore& t : directory.tensors) t.type = type;
      const auto out = exported(imported(directory));
      EXPECT_EQ(out, contents(scratch / "hf" / "model.safetensors")) << name << ", " << stored_name(type);
      const Json config = exported_json("config.json");
      for (const char* field :
           {"model_type", "vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "activation_function",
            "layer_norm_epsilon", "tie_word_embeddings", "resid_pdrop", "eos_token_id"}) {
        EXPECT_EQ(config[field], golden_case["config"][field]) << name << ": " << field;
      }
      EXPECT_EQ(config["torch_dtype"], type == StoredType::BF16 ? "bfloat16" : "float32");
      EXPECT_EQ(exported_json("generation_config.json")["eos_token_id"], 267);
      fs::remove_all(scratch / "imported");
    }
  }
}

TEST_F(Gpt2Export, TheDtypeCanBeChosen) {
  const fs::path checkpoint = imported();
  const auto exact = exported(checkpoint), halves = exported(checkpoint, StoredType::BF16);
  EXPECT_EQ(exported_json("config.json")["torch_dtype"], "bfloat16");
  for (const auto& [name, tensor] : exact) EXPECT_EQ(halves.at(name).second.size() * 2, tensor.second.size()) << name;
  fs::remove_all(scratch / "again");
  import_hugging_face(scratch / "out", scratch / "again", {});
  EXPECT_EQ(exported(scratch / "again", StoredType::F32), exact);  // these weights are exact in bf16
}

// A run of weft saves checkpoints on many ranks, with the vocabulary padded in memory.
TEST_F(Gpt2Export, FilesAreTheSameFromAnyLayout) {
  const fs::path whole = imported();
  const auto expected = exported(whole);
  const Checkpoint checkpoint = Checkpoint::open(whole);
  const CheckpointManifest& manifest = checkpoint.manifest();
  const JobConfig job = parse_stored_job(manifest.job, "the job");
  const auto attachment = [&](const char* name) {
    return std::pair(std::string(name), read_attachment(whole, manifest, name));
  };
  for (const MeshLayout& layout : {MeshLayout{2, 1}, MeshLayout{1, 2}, MeshLayout{2, 2}}) {
    for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer}) {
      fs::remove_all(scratch / "run");
      run_in_process(layout, [&](Mesh& mesh, int) {
        Context context;
        const auto model = make_model(context, mesh, {.config = job.model, .vocabularies = {.target = 268}});
        model->allocate(Precision::Fp32, Purpose::Training, {.zero = zero, .bucket_bytes = 4000});
        const std::vector<NamedBuffer> master = {{"master", model->parameters().master()}};
        checkpoint.read(context, local_boxes(model->parameters(), master));
        CheckpointWriter writer(scratch / "run", context, mesh.world());
        writer.start({.step = 7,
                      .state = manifest.state,
                      .job = manifest.job,
                      .attachments = {attachment("source-tokenizer.json"), attachment("target-tokenizer.json")}},
                     owned_arrays(model->parameters(), master));
        writer.finish();
      });
      EXPECT_EQ(exported(checkpoint_path(scratch / "run", 7)), expected) << layout.dp << " x " << layout.tp;
    }
  }
}

TEST_F(Gpt2Export, ProvenanceIsKept) {
  exported(imported());
  const auto metadata = SafetensorsFile(scratch / "out" / "model.safetensors").header().metadata;
  EXPECT_EQ(metadata.at("format"), "pt");
  EXPECT_EQ(Json::parse(metadata.at("weft_provenance"))["imported"]["from"], (scratch / "hf").string());
  import_hugging_face(scratch / "out", scratch / "again", {});
  const Json kept = Checkpoint::open(scratch / "again").manifest().provenance["imported"]["metadata"];
  EXPECT_EQ(kept["weft_provenance"], metadata.at("weft_provenance"));
}

// Models without biases (nanoGPT's) are GPT-2s whose biases are zero.
TEST_F(Gpt2Export, MissingBiasesAreWrittenAsZeros) {
  TransformerConfig model = kSmall;
  model.bias = model.norm_bias = false;
  const auto tokenizer = tokenizer_of({.kind = TokenizerKind::Bytes});
  const auto out = exported(write_model(scratch / "plain", {.model = model}, *tokenizer, half));
  const std::string zeros(3 * 8 * sizeof(float), '\0');
  EXPECT_EQ(out.at("transformer.h.0.attn.c_attn.bias").second, zeros);
  EXPECT_EQ(out.at("transformer.ln_f.bias").second, zeros.substr(0, 8 * sizeof(float)));
  import_hugging_face(scratch / "out", scratch / "again", {});
  ImportedModel before(scratch / "plain"), after(scratch / "again");
  EXPECT_EQ(before.logits({1, 2, 3}), after.logits({1, 2, 3}));
}

// Other directories beside the output may belong to the user, and a slash after its name means nothing.
TEST_F(Gpt2Export, NothingBesideTheOutputIsTouched) {
  JobConfig job{.model = kSmall};
  job.lora = {.rank = 2, .targets = {"attention.*"}};
  const fs::path adapted = write_model(scratch / "adapted", job, *tokenizer_of({.kind = TokenizerKind::Bytes}), half);
  for (const char* name : {"merged", "out", "in"}) {
    fs::create_directory(scratch / (name + std::string(".tmp")));
    scratch.write(name + std::string(".tmp/keep"), "thesis");
  }
  merge_adapters(adapted, scratch / "merged/");
  export_model(scratch / "merged", scratch / "out/", std::nullopt, {});
  import_hugging_face(scratch / "out", scratch / "in/", {});
  EXPECT_EQ(Checkpoint::open(scratch / "in").tensors("master").size(),
            Checkpoint::open(scratch / "merged").tensors("master").size());
  EXPECT_EQ(error_of([&] { export_model(scratch / "in", scratch / "out/", std::nullopt, {}); }),
            (scratch / "out").string() + ": exists already");
  EXPECT_THAT(error_of([&] { import_hugging_face(scratch / "out", scratch / "in.tmp/", {}); }),
              HasSubstr("exists already"));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(scratch.path())) names.push_back(entry.path().filename());
  EXPECT_THAT(names, UnorderedElementsAre("adapted", "merged", "merged.tmp", "out", "out.tmp", "in", "in.tmp"));
  for (const char* name : {"merged", "out", "in"}) {
    EXPECT_EQ(read_file(scratch / (name + std::string(".tmp")) / "keep"), "thesis");
  }
}

TEST_F(Gpt2Export, WhatGpt2CannotRepresentIsRefusedByName) {
  const auto tokenizer = tokenizer_of({.kind = TokenizerKind::Bytes});
  const auto refused = [&](const char* key, const std::function<void(TransformerConfig&)>& change) {
    TransformerConfig model = kSmall;
    change(model);
    fs::remove_all(scratch / "other");
    const fs::path path = write_model(scratch / "other", {.model = model}, *tokenizer, half);
    EXPECT_THAT(error_of([&] { exported(path); }), HasSubstr(std::string("model.") + key + ": GPT-2 cannot")) << key;
    EXPECT_FALSE(fs::exists(scratch / "out"));
  };
  refused("norm_placement", [](TransformerConfig& m) { m.norm_placement = NormPlacement::Post; });
  refused("final_norm", [](TransformerConfig& m) { m.final_norm = false; });
  refused("kv_heads", [](TransformerConfig& m) { m.kv_heads = 1; });
  refused("head_dim", [](TransformerConfig& m) { m.head_dim = 8; });
  refused("embedding_width", [](TransformerConfig& m) { m.embedding_width = 4, m.tying = Tying::None; });
  refused("positions", [](TransformerConfig& m) { m.positions = Positions::Sinusoidal; });
  refused("output_bias", [](TransformerConfig& m) { m.output_bias = true; });
  refused("scale_embedding", [](TransformerConfig& m) { m.scale_embedding = true; });
}

TEST_F(Gpt2Export, OtherTokenizersAreRefusedByName) {
  for (const TokenizerKind kind : {TokenizerKind::Chars, TokenizerKind::Words}) {
    const auto tokenizer = tokenizer_of({.kind = kind, .specials = {"<unk>"}, .unk = "<unk>"});
    EXPECT_THAT(error_of([&] { hugging_face_tokenizer_files(*tokenizer, 16); }),
                HasSubstr("cannot be represented: it is " + tokenizer->kind()));
  }
}

// Such as Llama 3's: what it puts before a text begins documents and prompts, and stands in the export.
TEST_F(Gpt2Export, ATokenBeforeEachTextStaysThere) {
  Json described = golden()["cases"].begin().value()["config"];
  described["vocab_size"] = 400;
  Gpt2Directory directory(described);
  directory.files = {
      {"tokenizer.json", read_file(fs::path(source_dir()) / "tests/data/tokenizer/foreign/llama3.json")}};
  const fs::path checkpoint = imported(directory);
  EXPECT_TRUE(parse_stored_job(read_checkpoint_manifest(checkpoint).job, "the job").data.source_bos);
  exported(checkpoint);
  const Json single = exported_json("tokenizer.json")["post_processor"]["single"];
  EXPECT_EQ(
      single,
      Json::parse(R"([{"SpecialToken":{"id":"<|endoftext|>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}])"));
}

// Every tokenizer that can be exported is imported unchanged: its hash covers everything that changes ids.
TEST_F(Gpt2Export, TokenizersRoundTrip) {
  const std::string text = "the cat sat in the other hat, don't the cats? 1234 the\n\n the";
  std::vector<TokenizerConfig> configs = {{.kind = TokenizerKind::Bytes, .specials = {"<eos>"}, .eos = "<eos>"}};
  for (const char* pattern : {"gpt2", "gpt4", "gpt4-classic", "none", R"(\w+|\W)"}) {
    configs.push_back({.merges = 12, .pattern = pattern, .specials = {"<s>", "<pad>"}, .bos = "<s>", .pad = "<pad>"});
  }
  for (const TokenizerConfig& config : configs) {
    const auto tokenizer = tokenizer_of(config, text);
    for (const auto& [name, file] : hugging_face_tokenizer_files(*tokenizer, 16)) scratch.write(name, file);
    const auto [read, begins_texts] = read_hugging_face_tokenizer(scratch.path(), tokenizer->vocabulary());
    EXPECT_EQ(read->encode(text), tokenizer->encode(text)) << config.pattern;
    EXPECT_FALSE(begins_texts);
    EXPECT_EQ(read->specials(), tokenizer->specials());
    if (config.kind == TokenizerKind::Bpe) {
      EXPECT_EQ(read->hash(), tokenizer->hash()) << config.pattern;
    }
    EXPECT_EQ(fs::exists(scratch / "merges.txt"), config.kind == TokenizerKind::Bpe && config.pattern == "gpt2");
    fs::remove(scratch / "tokenizer.json");
    if (fs::exists(scratch / "merges.txt")) {
      EXPECT_EQ(read_hugging_face_tokenizer(scratch.path(), tokenizer->vocabulary()).tokenizer->hash(),
                tokenizer->hash());
    }
    for (const char* name : {"vocab.json", "merges.txt", "tokenizer_config.json"}) fs::remove(scratch / name);
  }
}

}  // namespace
}  // namespace weft
