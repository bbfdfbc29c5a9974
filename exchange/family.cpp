// SPDX-License-Identifier: Apache-2.0
#include "exchange/family.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/error.h"

namespace weft {
namespace {

std::vector<ConfigChange> differences(const Family& family, const TransformerConfig& model) {
  return config_changes(family.nearest(model), model.with_derived_sizes());
}

void check_architecture(const ConfigFile& file, const Family& family) {
  const nlohmann::json& given = file.at("architectures");
  if (given.is_null()) return;
  const std::string_view whole = family.architecture(), bare = family.bare_architecture();
  const bool known = given.is_array() && given.size() == 1 && (given[0] == whole || given[0] == bare);
  if (!known) file.refuse("architectures", fmt::format("weft imports {} and {}", whole, bare));
}

std::vector<const Family*> listed() {
  std::vector<const Family*> all = {&gpt2_family()};
  std::ranges::copy(llama_families(), std::back_inserter(all));
  all.push_back(&marian_family());
  return all;
}

}  // namespace

std::vector<StoredPlace> Family::places(const std::string& parameter, const Shape& shape, const FileForm& form) const {
  if (parameter.starts_with("output.")) return head_places(parameter, shape);
  std::vector<StoredPlace> found = body_places(parameter, shape, form.tying);
  for (StoredPlace& place : found) place.name.insert(0, form.bare ? std::string_view() : prefix());
  return found;
}

std::vector<StoredPlace> Family::head_places(const std::string& parameter, const Shape& shape) const {
  if (parameter != "output.weight") return {};
  return {StoredPlace::same(std::string(kHeadTensor), shape)};
}

std::optional<Tie> Family::tie(std::string_view tensor, Tying tying) const {
  if (tensor != kHeadTensor || tying == Tying::None) return std::nullopt;
  return Tie{"decoder.embedding.tokens", "tie_word_embeddings"};
}

std::optional<std::vector<float>> Family::computed_table(const Shape&) const { return std::nullopt; }

std::optional<std::string> first_difference(const TransformerConfig& has, const TransformerConfig& model) {
  for (const ConfigChange& other : config_changes(has, model.with_derived_sizes())) {
    return fmt::format("model.{}: it has {}, not {}", other.key, other.before, other.after);
  }
  return std::nullopt;
}

std::span<const Family* const> all_families() {
  static const std::vector<const Family*> all = listed();
  return all;
}

const Family& family_of(const ConfigFile& file) {
  std::string types;
  for (const Family* family : all_families()) {
    types += fmt::format("{}{}", types.empty() ? "" : ", ", family->type());
    if (file.at("model_type") != family->type()) continue;
    check_architecture(file, *family);
    if (file.has("quantization_config")) file.refuse("quantization_config", "weights must be numbers");
    return *family;
  }
  file.refuse("model_type", "weft imports " + types);
}

const Family& family_of(const TransformerConfig& model, const std::string& where) {
  const auto distance = [&](const Family* family) {
    return family->translates() ? SIZE_MAX : differences(*family, model).size();
  };
  const auto nearest = std::ranges::min_element(all_families(), {}, distance);
  for (const ConfigChange& other : differences(**nearest, model)) {
    throw DataError(fmt::format("{}: model.{}: {} cannot represent this model: it has {}, not {}", where, other.key,
                                (*nearest)->name(), other.before, other.after),
                    "docs/huggingface.md lists what it can");
  }
  return **nearest;
}

std::optional<InBlock> in_block(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits == 0 || digits >= name.size() || name[digits] != '.') return std::nullopt;
  return InBlock{name.substr(0, digits), name.substr(digits + 1)};
}

}  // namespace weft
