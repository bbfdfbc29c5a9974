// SPDX-License-Identifier: Apache-2.0
#include "exchange/adapter_import.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>

#include "base/config/writer.h"
#include "base/error.h"
#include "base/files/new_directory.h"
#include "checkpoint/reader.h"
#include "checkpoint/run_state.h"
#include "checkpoint/safetensors/safetensors.h"
#include "checkpoint/whole_writer.h"
#include "exchange/family.h"
#include "exchange/parameters.h"
#include "job/migration.h"
#include "kernels/transfer.h"
#include "model/layers/lora.h"

namespace weft {
namespace {

constexpr const char* kAdapterConfig = "adapter_config.json";

// What the file says of all adapters: rank, alpha and dropout.
LoraConfig read_config(const fs::path& directory) {
  const ConfigFile file(directory / kAdapterConfig);
  if (file.text("peft_type", "LORA") != "LORA") file.refuse("peft_type", "weft has LoRA alone");
  file.only("use_rslora", false, false, "weft multiplies an adapter by alpha / rank");
  file.only("use_dora", false, false, "weft's adapters have no magnitudes");
  file.only("lora_bias", false, false, "weft's adapters have no biases");
  if (file.text("bias", "none") != "none") file.refuse("bias", "the model's biases would be others");
  for (const char* more : {"rank_pattern", "alpha_pattern", "layers_to_transform", "modules_to_save",
                           "target_parameters", "layer_replication", "trainable_token_indices"}) {
    if (file.has(more) && !file.at(more).empty())
      file.refuse(more, "all of weft's adapters are alike, and nothing else is trained");
  }
  return {.rank = file.size("r", 8), .alpha = file.number("lora_alpha", 8), .dropout = file.number("lora_dropout", 0)};
}

// The adapters of one product of weft's: A of each of its parts, of which equal ones are one, and all of B.
struct ProductAdapters {
  std::vector<std::vector<float>> a;  // [rank, in] each
  std::vector<float> b;               // [outputs, a.size() * rank]
};

// The adapters of a directory by weft's names of products. All of a rank.
class PeftAdapters {
 public:
  PeftAdapters(const fs::path& directory, const Family& family, ModelSpec spec)
      : file_(directory / "adapter_model.safetensors"), family_(family), rank_(spec.lora.rank) {
    for (const StoredTensor& tensor : file_.header().tensors) stored_.emplace(tensor.name, &tensor);
    spec.lora.targets = {"attention.qkv", "attention.output", "ffn.up", "ffn.down"};
    for (const auto& [name, shape] : parameters_of(spec)) {
      if (name.ends_with(kLoraB)) read_product(name.substr(0, name.size() - kLoraB.size()), shape);
    }
    for (const auto& [name, tensor] : stored_) {
      require<DataError>(used_.contains(name), "{}: {} is no adapter of a product of {}", file_.path().string(), name,
                         family.name());
    }
  }

  // The ends of products' names that have adapters. DataError if a product has one in some layers alone.
  std::vector<std::string> targets() const {
    std::map<std::string, int64_t> layers;
    for (const auto& [product, adapters] : found_) ++layers[std::string(in_block(product, "decoder.")->rest)];
    std::vector<std::string> targets;
    for (const auto& [target, count] : layers) {
      require<DataError>(count == std::ranges::max(layers | std::views::values),
                         "{}: {} has adapters in {} layers, and others in more", file_.path().string(), target, count);
      targets.push_back(target);
    }
    return targets;
  }
  // How many times the rank the widest adapter has.
  int64_t widest() const {
    size_t most = 1;
    for (const auto& [product, adapters] : found_) most = std::max(most, adapters.a.size());
    return static_cast<int64_t>(most);
  }

  void fill_a(const std::string& product, std::span<float> values) const {
    std::ranges::fill(values, 0.0f);
    size_t at = 0;
    for (const std::vector<float>& a : found_.at(product).a) {
      std::ranges::copy(a, values.begin() + static_cast<ptrdiff_t>(at));
      at += a.size();
    }
  }
  // `rank`: that of all adapters, to which this one is filled up.
  void fill_b(const std::string& product, int64_t rank, std::span<float> values) const {
    const ProductAdapters& adapters = found_.at(product);
    const auto have = static_cast<size_t>(rank_) * adapters.a.size(), want = static_cast<size_t>(rank);
    std::ranges::fill(values, 0.0f);
    for (size_t row = 0; row < values.size() / want; ++row) {
      std::copy_n(adapters.b.begin() + static_cast<ptrdiff_t>(row * have), have,
                  values.begin() + static_cast<ptrdiff_t>(row * want));
    }
  }

 private:
  std::vector<float> read(const std::string& name, const Shape& shape) {
    const auto found = stored_.find(name);
    require<DataError>(found != stored_.end(), "{}: tensor {} is missing", file_.path().string(), name);
    require<DataError>(found->second->shape == shape, "{}: {} has shape {}, and not {}", file_.path().string(), name,
                       found->second->shape, shape);
    used_.insert(name);
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    file_.read(*found->second, values);
    return values;
  }

  // `b_shape`: of the product's B at the rank of the file.
  void read_product(const std::string& product, const Shape& b_shape) {
    const std::vector<StoredPlace> places = family_.places(product + ".weight", b_shape);
    std::vector<std::pair<size_t, std::vector<float>>> parts;  // which A, and B as weft has it, zero elsewhere
    ProductAdapters adapters;
    for (const StoredPlace& place : places) {
      const std::string module = "base_model.model." + place.name.substr(0, place.name.rfind('.'));
      const std::string a_name = module + ".lora_A.weight", b_name = module + ".lora_B.weight";
      const auto stored = stored_.find(a_name);
      if (stored == stored_.end() && !stored_.contains(b_name)) continue;
      require<DataError>(stored != stored_.end() && stored->second->shape.rank() == 2, "{}: {} is no matrix",
                         file_.path().string(), a_name);
      const std::vector<float> a = read(a_name, {rank_, stored->second->shape[1]});
      const StoredPlace upright = place.upright();
      std::vector<float> ours(static_cast<size_t>(b_shape.elements()));
      from_stored(upright, read(b_name, upright.shape), ours);
      const auto same = std::ranges::find(adapters.a, a);
      parts.emplace_back(same - adapters.a.begin(), std::move(ours));
      if (same == adapters.a.end()) adapters.a.push_back(a);
    }
    if (parts.empty()) return;
    const auto rank = static_cast<size_t>(rank_), whole = rank * adapters.a.size();
    const size_t rows = parts.front().second.size() / rank;
    adapters.b.assign(rows * whole, 0.0f);
    for (const auto& [which, b] : parts) {
      for (size_t i = 0; i < b.size(); ++i) adapters.b[i / rank * whole + which * rank + i % rank] += b[i];
    }
    found_.emplace(product, std::move(adapters));
  }

  const SafetensorsFile file_;
  const Family& family_;
  int64_t rank_;
  std::map<std::string, const StoredTensor*> stored_;
  std::set<std::string> used_;
  std::map<std::string, ProductAdapters> found_;
};

}  // namespace

bool holds_adapters(const fs::path& directory) { return fs::exists(directory / kAdapterConfig); }

void import_adapters(const fs::path& directory, const fs::path& base, const fs::path& out,
                     nlohmann::ordered_json origin) {
  require_absent(out);
  const Checkpoint checkpoint = Checkpoint::open(base);
  const CheckpointManifest& manifest = checkpoint.manifest();
  JobConfig job = parse_stored_job(manifest.job, manifest_path(base).string());
  require<ConfigError>(!job.is_translation(), "{}: adapters of peft are for language models", base.string());
  require<ConfigError>(!job.lora.active(), "{} has adapters already: weft merge makes a model without", base.string());
  job.lora = read_config(directory);
  ModelSpec spec{
      .config = job.model, .vocabularies = {.target = checkpoint.tokenizers().target->vocabulary()}, .lora = job.lora};
  const PeftAdapters adapters(directory, family_of(job.model, base.string()), spec);
  job.lora.targets = adapters.targets();
  job.lora.rank *= adapters.widest(), job.lora.alpha *= static_cast<double>(adapters.widest());
  spec.lora = job.lora;
  origin["imported"] = {{"from", fs::absolute(directory).string()}, {"adapters_of", fs::absolute(base).string()}};
  CheckpointHeader header = header_of(base, manifest);
  header.job = to_yaml(job), header.provenance = std::move(origin);
  std::vector<WholeTensor> tensors;
  for (const auto& [name, shape] : parameters_of(spec)) tensors.push_back({name, shape});
  Context context;
  write_whole_checkpoint(out, header, tensors, [&](const WholeTensor& tensor, std::span<float> into) {
    const std::string& name = tensor.name;
    const auto product = [&] { return name.substr(0, name.size() - kLoraA.size()); };
    if (name.ends_with(kLoraA)) return adapters.fill_a(product(), into);
    if (name.ends_with(kLoraB)) return adapters.fill_b(product(), job.lora.rank, into);
    download(context, checkpoint.read_whole(context, name, tensor.shape), into);
  });
}

}  // namespace weft
