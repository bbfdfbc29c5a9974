// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/safetensors/writer.h"
#include "exchange/gpt2_import.h"
#include "job/loaded_model.h"
#include "kernels/transfer.h"
#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

namespace weft::test {

using Json = nlohmann::ordered_json;

// What Hugging Face's GPT-2 says of small models (make_gpt2_golden.py).
inline const Json& golden() {
  static const Json json = Json::parse(read_file(fs::path(source_dir()) / "tests/exchange/gpt2_golden.json"));
  return json;
}

// The weight of a tensor at a place, as make_gpt2_golden.py makes it: exact in fp32 and in bf16.
inline float golden_weight(std::string_view name, uint32_t index) {
  uint32_t hash = 2166136261;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  const uint32_t byte = (hash + index * uint32_t{2654435761}) >> 24;
  const float x = (static_cast<float>(byte) - 128) / 128;
  const bool norm = name.find(".ln_") != std::string_view::npos && name.ends_with("weight");
  if (!norm) return x / 4;
  return byte % 2 == 0 ? 1 + x / 2 : 1;
}

// A GPT-2 directory as `transformers` writes it, in parts that tests may damage before write().
struct Gpt2Directory {
  explicit Gpt2Directory(const std::string& name = golden()["cases"].begin().key(), bool prefixed = true)
      : Gpt2Directory(golden()["cases"][name]["config"], prefixed) {}
  explicit Gpt2Directory(Json described, bool prefixed = true) : config(std::move(described)) {
    const int64_t width = config["n_embd"], ffn = config.value("n_inner", 4 * width), vocabulary = config["vocab_size"];
    const auto add = [&](const std::string& tensor, const Shape& shape) {
      tensors.push_back({(prefixed ? "transformer." : "") + tensor, StoredType::F32, shape});
    };
    add("wte.weight", {vocabulary, width});
    add("wpe.weight", {config["n_positions"], width});
    for (int64_t n = 0; n < config["n_layer"]; ++n) {
      const std::string block = fmt::format("h.{}.", n);
      for (const char* norm : {"ln_1", "ln_2"}) {
        add(block + norm + ".weight", {width});
        add(block + norm + ".bias", {width});
      }
      const auto product = [&](const char* product_name, int64_t in, int64_t out) {
        add(block + product_name + ".weight", {in, out});
        add(block + product_name + ".bias", {out});
      };
      product("attn.c_attn", width, 3 * width);
      product("attn.c_proj", width, width);
      product("mlp.c_fc", width, ffn);
      product("mlp.c_proj", ffn, width);
    }
    add("ln_f.weight", {width});
    add("ln_f.bias", {width});
    if (!config.value("tie_word_embeddings", true)) {
      tensors.push_back({"lm_head.weight", StoredType::F32, {vocabulary, width}});
    }
    add_tokenizer();
  }

  TensorToStore& tensor(std::string_view ending) {
    for (TensorToStore& t : tensors) {
      if (t.name.ends_with(ending)) return t;
    }
    throw InternalError(fmt::format("no tensor {}", ending));
  }
  void remove(std::string_view ending) {
    std::erase_if(tensors, [&](const TensorToStore& t) { return t.name.ends_with(ending); });
  }
  // Weights go by their names in GPT2LMHeadModel, whatever they are stored as.
  std::vector<float> values(const TensorToStore& t) const {
    const bool full = t.name.starts_with("transformer.") || t.name.starts_with("lm_head.");
    const std::string name = full ? t.name : "transformer." + t.name;
    std::vector<float> all(static_cast<size_t>(t.shape.elements()));
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = golden_weight(copied.contains(name) ? copied.at(name) : name, static_cast<uint32_t>(i));
    }
    return all;
  }
  void write_tensors(const fs::path& path, const std::vector<TensorToStore>& which) const {
    SafetensorsWriter writer(path, which, {{"format", "pt"}});
    for (const TensorToStore& t : which) writer.write(values(t));
    writer.finish();
  }
  fs::path write(const Scratch& scratch, const std::string& name = "hf") const {
    const fs::path directory = scratch / name;
    fs::remove_all(directory);
    fs::create_directories(directory);
    write_tensors(directory / "model.safetensors", tensors);
    write_file_atomically(directory / "config.json", config.dump());
    for (const auto& [file, text] : files) write_file_atomically(directory / file, text);
    return directory;
  }

  Json config;
  std::vector<TensorToStore> tensors;
  std::map<std::string, std::string> files;   // of the tokenizer
  std::map<std::string, std::string> copied;  // names whose weights are those of another name

 private:
  // 256 bytes, the merges, and <|endoftext|>.
  void add_tokenizer() {
    Json vocab = Json::object();
    const auto add = [&](const std::string& token) { vocab[token] = vocab.size(); };
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; ++b) {
      const bool visible = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      const uint32_t c = visible ? b : next++;
      add(c < 0x80 ? std::string(1, static_cast<char>(c))
                   : std::string{static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))});
    }
    std::string merges = "#version: 0.2\n";
    for (const Json& merge : golden()["merges"]) {
      std::string text = merge.get<std::string>();
      merges += text + "\n";
      add(text.erase(text.find(' '), 1));
    }
    add("<|endoftext|>");
    files = {{"vocab.json", vocab.dump()}, {"merges.txt", merges}};
  }
};

// An imported model, ready to be asked.
struct ImportedModel {
  explicit ImportedModel(const fs::path& checkpoint) : loaded(load_model(context, mesh, checkpoint)) {}

  // After these ids.
  std::vector<float> logits(const std::vector<int32_t>& ids) {
    const auto cache = loaded.model->begin_decoding({}, 1, 1, std::ssize(ids));
    const Tensor row = loaded.model->decode(*cache, ids, std::vector<int32_t>{0, static_cast<int32_t>(ids.size())});
    std::vector<float> all(static_cast<size_t>(row.elements()));
    download(context, row, std::span<float>(all));
    return all;
  }

  Context context;
  Mesh mesh = Mesh::single();
  LoadedModel loaded;
};

}  // namespace weft::test
