// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products/algorithm_table.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"

namespace weft::cuda {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr int kDepth = 5;     // file, table, products, product, alignments
constexpr size_t kWord = 16;  // hexadecimal digits
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

Json to_json(const ProductKey& key, const cublasLtMatmulAlgo_t& algorithm) {
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
          {"alignment", key.alignment},
          {"algorithm", hexadecimal(algorithm)}};
}

std::pair<ProductKey, cublasLtMatmulAlgo_t> from_json(const Json& json) {
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
                       .alignment = json.at("alignment").get<std::array<int64_t, 3>>()};
  return {key, algorithm_of(text("algorithm"))};
}

using Chosen = std::map<ProductKey, cublasLtMatmulAlgo_t>;

std::string checksum(const Json& table) { return hash_hex(hash64(table.dump())); }

Json table_of(const std::string& device, const std::string& library, const Chosen& chosen) {
  Json products = Json::array();
  for (const auto& [key, algorithm] : chosen) products.push_back(to_json(key, algorithm));
  return {{"device", device}, {"library", library}, {"products", std::move(products)}};
}

std::string file_of(Json table) {
  const std::string sum = checksum(table);
  return Json{{"version", kVersion}, {"checksum", sum}, {"table", std::move(table)}}.dump(1) + "\n";
}

// Returns the table of a file if its checksum matches.
Json checked_table(const Json& file) {
  const int version = file.at("version").get<int>();
  require<DataError>(version == kVersion, "version {}; this build reads version {}", version, kVersion);
  require<DataError>(file.at("checksum").get<std::string>() == checksum(file.at("table")),
                     "the checksum does not match");
  return file.at("table");
}

}  // namespace

const cublasLtMatmulAlgo_t* AlgorithmTable::find(const ProductKey& key) const {
  const auto at = chosen_.find(key);
  return at == chosen_.end() ? nullptr : &at->second;
}

const cublasLtMatmulAlgo_t& AlgorithmTable::keep(const ProductKey& key, const cublasLtMatmulAlgo_t& algorithm) {
  text_.clear();
  new_.insert(key);
  return chosen_.emplace(key, algorithm).first->second;
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
