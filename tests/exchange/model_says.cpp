// SPDX-License-Identifier: Apache-2.0
// Computes logits and ids of a checkpoint for against_transformers.py, without the command line's rounding.
//   model_says CHECKPOINT logits < ids        reads a line of ids; writes raw fp32 logits after each, [ids,
//   vocabulary].
//                                             Of a translation model a line before it has the ids of the source.
//   model_says CHECKPOINT ids < texts         reads a JSON text a line; writes a line of ids for each
//   model_says CHECKPOINT source-ids < texts  the same of a translation model's source
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "job/loaded_model.h"
#include "kernels/transfer.h"
#include "parallel/session.h"

namespace weft {
namespace {

std::vector<int32_t> read_ids() {
  std::string line;
  std::getline(std::cin, line);
  std::istringstream numbers(line);
  std::vector<int32_t> ids;
  for (int32_t id = 0; numbers >> id;) ids.push_back(id);
  return ids;
}

void print_logits(Session& session, const LoadedModel& loaded) {
  Tokens source;
  if (loaded.job.is_translation()) {
    const std::vector<int32_t> ids = read_ids(), ends = {0, static_cast<int32_t>(ids.size())};
    source = pack_tokens(session.context(), {.tokens = ids, .offsets = ends});
  }
  const std::vector<int32_t> ids = read_ids();
  const auto cache = loaded.model->begin_decoding(source, 1, 1, std::ssize(ids));
  for (const int32_t id : ids) {
    const Tensor row = loaded.model->decode(*cache, std::vector<int32_t>{id}, std::vector<int32_t>{0, 1});
    std::vector<float> logits(static_cast<size_t>(row.elements()));
    download(session.context(), row, std::span<float>(logits));
    std::fwrite(logits.data(), sizeof(float), logits.size(), stdout);
  }
}

void print_ids(const Tokenizer& tokenizer) {
  for (std::string line; std::getline(std::cin, line);) {
    for (const int32_t id : tokenizer.encode(nlohmann::json::parse(line).get<std::string>())) {
      std::printf("%d ", id);
    }
    std::printf("\n");
  }
}

void say(const fs::path& checkpoint, const std::string& what) {
  Session session = Session::alone();
  const LoadedModel loaded = load_model(session.context(), session.mesh(), checkpoint);
  if (what == "ids") return print_ids(*loaded.target_tokenizer);
  if (what == "source-ids") return print_ids(*loaded.source_tokenizer);
  require<ConfigError>(what == "logits", "logits, ids or source-ids, not {}", what);
  print_logits(session, loaded);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  try {
    weft::require<weft::ConfigError>(argc == 3, "model_says CHECKPOINT logits|ids|source-ids");
    weft::say(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", weft::describe(error).c_str());
    return 1;
  }
}
