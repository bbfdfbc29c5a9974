// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products/algorithm_table.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"

namespace weft::cuda {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 2, kOldest = 1;  // a table of version 1 has products by the library alone
constexpr int kDepth = 5;                 // file, table, products, product, alignments
constexpr size_t kWord = 16;              // hexadecimal digits
constexpr size_t kWords = std::extent_v<decltype(cublasLtMatmulAlgo_t::data)>;

std::string hexadecimal(const cublasLtMatmulAlgo_t& algorithm) {
  std::string digits;
  for (const uint64_t word : algorithm.data) digits += hash_hex(word);
  return digits;
}

cublasLtMatmulAlgo_t algorithm_of(const std::string& digits) {
  require<DataError>(digits.size() == kWords * kWord, "an algorithm of {} digits, not {}", digits.size(),
                     kWords * kWord);
  cublasLtMatmulAlgo_t algorithm{};
  for (size_t i = 0; i < kWords; ++i) {
    const char *first = digits.data() + i * kWord, *last = first + kWord;
    const auto [end, error] = std::from_chars(first, last, algorithm.data[i], 16);
    require<DataError>(error == std::errc{} && end == last, "an algorithm that is not a hexadecimal number");
  }
  return algorithm;
}

DType dtype_of(const std::string& text) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    if (text == name(dtype)) return dtype;
  }
  throw DataError(fmt::format("a product of {}", text));
}

constexpr std::array<std::pair<Way, std::string_view>, 2> kWays{{{Way::Apart, "apart"}, {Way::Own, "own"}}};

// A product by the library has an algorithm, another one a way.
Json with_choice(Json product, const Choice& choice) {
  if (choice.way == Way::Library) product["algorithm"] = hexadecimal(choice.algorithm);
  for (const auto& [way, text] : kWays) {
    if (way == choice.way) product["way"] = text;
  }
  return product;
}

Choice choice_of(const Json& product, bool has_epilogue) {
  if (!product.contains("way")) return {.algorithm = algorithm_of(product.at("algorithm").get<std::string>())};
  const auto text = product.at("way").get<std::string>();
  for (const auto& [way, name] : kWays) {
    if (name == text && has_epilogue == (way == Way::Apart)) return {.way = way};
  }
  throw DataError(
      fmt::format("a product {} an epilogue that is computed '{}'", has_epilogue ? "with" : "without", text));
}

using Alignment = decltype(ProductKey::alignment);
constexpr size_t kOperands = 3;

// Where bias and saved lie well, or are not there, those of the operands alone are written, as in version 1.
std::vector<int64_t> written(const Alignment& alignment) {
  const Alignment usual = ProductKey().alignment;
  const bool all = !std::equal(alignment.begin() + kOperands, alignment.end(), usual.begin() + kOperands);
  return {alignment.begin(), all ? alignment.end() : alignment.begin() + kOperands};
}

Alignment alignment_of(const std::vector<int64_t>& written) {
  require<DataError>(written.size() == kOperands || written.size() == std::tuple_size_v<Alignment>,
                     "{} alignments of a product", written.size());
  Alignment alignment = ProductKey().alignment;
  std::copy(written.begin(), written.end(), alignment.begin());
  return alignment;
}

Json to_json(const ProductKey& key) {
  return {{"m", key.m},
          {"n", key.n},
          {"k", key.k},
          {"input", name(key.input)},
          {"output", name(key.output)},
          {"transpose_a", key.transpose_a},
          {"transpose_b", key.transpose_b},
          {"add", key.add},
          {"tf32", key.tf32},
          {"epilogue", key.epilogue},
          {"alignment", written(key.alignment)}};
}

std::pair<ProductKey, Choice> from_json(const Json& json) {
  const auto number = [&](const char* field) { return json.at(field).get<int64_t>(); };
  const auto flag = [&](const char* field) { return json.at(field).get<bool>(); };
  const auto text = [&](const char* field) { return json.at(field).get<std::string>(); };
  const ProductKey key{.m = number("m"),
                       .n = number("n"),
                       .k = number("k"),
                       .input = dtype_of(text("input")),
                       .output = dtype_of(text("output")),
                       .transpose_a = flag("transpose_a"),
                       .transpose_b = flag("transpose_b"),
                       .add = flag("add"),
                       .tf32 = flag("tf32"),
                       .epilogue = number("epilogue"),
                       .alignment = alignment_of(json.at("alignment").get<std::vector<int64_t>>())};
  return {key, choice_of(json, key.epilogue != CUBLASLT_EPILOGUE_DEFAULT)};
}

using Chosen = std::map<ProductKey, Choice>;

std::string checksum(const Json& table) { return hash_hex(hash64(table.dump())); }

Json table_of(const std::string& device, const std::string& library, const Chosen& chosen) {
  Json products = Json::array();
  for (const auto& [key, choice] : chosen) products.push_back(with_choice(to_json(key), choice));
  return {{"device", device}, {"library", library}, {"products", std::move(products)}};
}

std::string file_of(Json table) {
  const std::string sum = checksum(table);
  return Json{{"version", kVersion}, {"checksum", sum}, {"table", std::move(table)}}.dump(1) + "\n";
}

// Returns the table of a file if its checksum matches.
Json checked_table(const Json& file) {
  const int version = file.at("version").get<int>();
  require<DataError>(version >= kOldest && version <= kVersion, "version {}; this build reads versions {} to {}",
                     version, kOldest, kVersion);
  require<DataError>(file.at("checksum").get<std::string>() == checksum(file.at("table")),
                     "the checksum does not match");
  return file.at("table");
}

}  // namespace

const Choice* AlgorithmTable::find(const ProductKey& key) const {
  const auto at = chosen_.find(key);
  return at == chosen_.end() ? nullptr : &at->second;
}

const Choice& AlgorithmTable::keep(const ProductKey& key, const Choice& choice) {
  text_.clear();
  new_.insert(key);
  return chosen_.emplace(key, choice).first->second;
}

const std::string& AlgorithmTable::text() const {
  if (chosen_.empty() || !text_.empty()) return text_;
  return text_ = file_of(table_of(device_, library_, chosen_));
}

std::string AlgorithmTable::new_text() const {
  if (new_.empty()) return {};
  Chosen kept;
  for (const ProductKey& key : new_) kept.emplace(key, chosen_.at(key));
  return file_of(table_of(device_, library_, kept));
}

std::string AlgorithmTable::digest() const {
  return fmt::format("{} products, {}", chosen_.size(), checksum(table_of(device_, library_, chosen_)));
}

std::string AlgorithmTable::take(const std::string& text, const std::string& from) {
  const Json file = parse_json(text, from, kDepth);
  try {
    const Json table = checked_table(file);
    Chosen read;
    for (const Json& product : table.at("products")) read.insert(from_json(product));
    const auto device = table.at("device").get<std::string>(), library = table.at("library").get<std::string>();
    if (device != device_ || library != library_) {
      return fmt::format("{} with {} chose them, and this is {} with {}", device, library, device_, library_);
    }
    text_.clear();
    chosen_.merge(read);
    return {};
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: not a table of algorithms: {}", from, error.what()));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: not a table of algorithms: {}", from, error.what()));
  }
}

int AlgorithmTable::agree(std::span<const std::string> texts) {
  for (const ProductKey& key : new_) chosen_.erase(key);
  new_.clear();
  int left = 0;
  for (const std::string& text : texts) {
    if (!text.empty()) left += take(text, "another rank's algorithms").empty() ? 0 : 1;
  }
  text_.clear();
  return left;
}

}  // namespace weft::cuda
