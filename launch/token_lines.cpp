// SPDX-License-Identifier: Apache-2.0
#include "launch/token_lines.h"

#include <charconv>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/output.h"
#include "data/tokenizer/tokenizer.h"
#include "launch/json_line.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// The place of a line, for messages: "corpus.txt:12".
struct Place {
  const std::string& file;
  int64_t line;
};

using LineReader = std::function<void(const std::string& line, const Place& place)>;

void for_each_line(std::istream& in, const std::string& name, const LineReader& read) {
  int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (++number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    read(line, {name, number});
  }
  require<DataError>(!in.bad(), "{}: cannot be read to its end", name);
}

void for_each_line(const std::vector<std::string>& files, const LineReader& read) {
  if (files.empty()) return for_each_line(std::cin, "standard input", read);
  for (const std::string& path : files) {
    if (path == "-") {
      for_each_line(std::cin, "standard input", read);
      continue;
    }
    require<DataError>(!fs::is_directory(path), "{}: is a directory", path);
    std::ifstream file(path);
    require<DataError>(file.is_open(), "{}: cannot be read", path);
    for_each_line(file, path, read);
  }
}

Json pieces_of(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  Json pieces = Json::array();
  for (const int32_t& id : ids)
    pieces.push_back(tokenizer.decode({&id, 1}, {.show_specials = true, .continues = true}));
  return pieces;
}

// Reads ids that blanks separate; each must be the id of a token.
std::vector<int32_t> read_ids(const Tokenizer& tokenizer, std::string_view line, const Place& place) {
  constexpr std::string_view kBlanks = " \t";
  std::vector<int32_t> ids;
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    const std::string_view word = line.substr(at, end - at);
    int32_t id = -1;
    const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    const std::string where = fmt::format("{}:{}:{}", place.file, place.line, at + 1);
    require<DataError>(error == std::errc{} && last == word.data() + word.size(),
                       "{}: \"{}\" is not an id: expected numbers separated by spaces", where, word.substr(0, 60));
    require<DataError>(tokenizer.knows(id), "{}: no token has the id {} (vocabulary {})", where, id,
                       tokenizer.vocabulary());
    ids.push_back(id);
    at = line.find_first_not_of(kBlanks, end);
  }
  return ids;
}

}  // namespace

void TokenLines::add_to(Command& command, const char* files_help) {
  tokenizer.add_to(command);
  command.add_option("files", files, files_help).type_name("FILE");
  command.add_flag("--json", json, "One JSON object per line, with text and ids");
}

void TokenLines::tokenize() const {
  const TokenizerPtr with = tokenizer.load();
  for_each_line(files, [&](const std::string& line, const Place& place) {
    std::vector<int32_t> ids;
    try {
      ids = with->encode(line, {.recognise_specials = specials});
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}:{}: {}", place.file, place.line, error.what()), error.hint());
    }
    if (json) {
      Json object = {{"text", line}, {"ids", ids}};
      if (pieces) object["pieces"] = pieces_of(*with, ids);
      return print(json_line(object) + "\n");
    }
    std::string shown;
    const Json quoted = pieces ? pieces_of(*with, ids) : Json();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) shown += ' ';
      shown += pieces ? json_line(quoted[i]) : std::to_string(ids[i]);
    }
    print(shown + "\n");
  });
}

void TokenLines::detokenize() const {
  const TokenizerPtr with = tokenizer.load();
  for_each_line(files, [&](const std::string& line, const Place& place) {
    const std::vector<int32_t> ids = read_ids(*with, line, place);
    const std::string text = with->decode(ids, {.show_specials = specials});
    print((json ? json_line({{"ids", ids}, {"text", text}}) : text) + "\n");
  });
}

}  // namespace weft
