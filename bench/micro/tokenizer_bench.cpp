// SPDX-License-Identifier: Apache-2.0
// Measures how fast texts become ids, and how long merges take to learn. Prints a JSON object; files hold one JSON
// object per line with a field "text".
//   tokenizer_bench encode TOKENIZER.json FILE THREADS
//   tokenizer_bench learn MERGES FILE THREADS
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "data/tokenizer/tokenizer.h"
#include "data/tokenizer/trainer.h"

namespace weft {
namespace {

std::vector<std::string> texts_of(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line);) texts.push_back(nlohmann::json::parse(line).at("text"));
  return texts;
}

size_t bytes_of(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

template <class Work>
double seconds_of(Work&& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Encodes all texts with threads that take 64 texts at a time; returns the number of ids.
size_t encode(const Tokenizer& tokenizer, const std::vector<std::string>& texts, int threads) {
  std::atomic<size_t> next{0}, tokens{0};
  const auto work = [&] {
    std::vector<int32_t> ids;
    for (size_t begin; (begin = next.fetch_add(64)) < texts.size();) {
      ids.clear();
      for (size_t i = begin; i < std::min(begin + 64, texts.size()); ++i) tokenizer.encode_append(texts[i], ids);
      tokens += ids.size();
    }
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  others.clear();  // joins
  return tokens;
}

void measure_encoding(const char* tokenizer_file, const char* file, int threads) {
  const auto tokenizer = Tokenizer::load(tokenizer_file);
  const std::vector<std::string> texts = texts_of(file);
  size_t tokens = 0;
  const double seconds = seconds_of([&] { tokens = encode(*tokenizer, texts, threads); });
  fmt::print("{{\"threads\": {}, \"bytes\": {}, \"tokens\": {}, \"seconds\": {:.3f}}}\n", threads, bytes_of(texts),
             tokens, seconds);
}

void measure_learning(int64_t merges, const char* file, int threads) {
  const std::vector<std::string> texts = texts_of(file);
  int64_t vocabulary = 0;
  const double seconds = seconds_of([&] {
    TokenizerTrainer trainer({.kind = TokenizerKind::Bpe, .merges = merges}, threads);
    for (const std::string& text : texts) trainer.add(text);
    vocabulary = trainer.finish()->vocabulary();
  });
  fmt::print("{{\"threads\": {}, \"bytes\": {}, \"merges\": {}, \"seconds\": {:.2f}}}\n", threads, bytes_of(texts),
             vocabulary - 256, seconds);
}

}  // namespace
}  // namespace weft

int main(int count, char** words) {
  const std::string_view what = count == 5 ? words[1] : "";
  if (what == "encode") weft::measure_encoding(words[2], words[3], std::atoi(words[4]));
  if (what == "learn") weft::measure_learning(std::atoll(words[2]), words[3], std::atoi(words[4]));
  if (what == "encode" || what == "learn") return 0;
  fmt::print(stderr, "usage: tokenizer_bench encode TOKENIZER.json FILE THREADS, or learn MERGES FILE THREADS\n");
  return 2;
}
