// SPDX-License-Identifier: Apache-2.0
// Computes logits and ids of a checkpoint for against_transformers.py, without the command line's rounding.
//   model_says CHECKPOINT logits < ids      reads a line of ids; writes raw fp32 logits after each, [ids, vocabulary]
//   model_says CHECKPOINT ids < texts       reads a JSON text a line; writes a line of ids for each
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "job/loaded_model.h"
#include "kernels/transfer.h"
#include "parallel/session.h"

namespace weft {
namespace {

void print_logits(Session& session, const LoadedModel& loaded) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; std::cin >> id;) ids.push_back(id);
  const auto cache = loaded.model->begin_decoding({}, 1, 1, std::ssize(ids));
  for (const int32_t id : ids) {
    const Tensor row = loaded.model->decode(*cache, std::vector<int32_t>{id}, std::vector<int32_t>{0, 1});
    std::vector<float> logits(static_cast<size_t>(row.elements()));
    download(session.context(), row, std::span<float>(logits));
    std::fwrite(logits.data(), sizeof(float), logits.size(), stdout);
  }
}

void print_ids(const LoadedModel& loaded) {
  for (std::string line; std::getline(std::cin, line);) {
    for (const int32_t id : loaded.target_tokenizer->encode(nlohmann::json::parse(line).get<std::string>())) {
      std::printf("%d ", id);
    }
    std::printf("\n");
  }
}

void say(const fs::path& checkpoint, const std::string& what) {
  Session session = Session::alone();
  const LoadedModel loaded = load_model(session.context(), session.mesh(), checkpoint);
  require<ConfigError>(what == "logits" || what == "ids", "logits or ids, not {}", what);
  if (what == "ids") return print_ids(loaded);
  print_logits(session, loaded);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  try {
    weft::require<weft::ConfigError>(argc == 3, "model_says CHECKPOINT logits|ids");
    weft::say(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", weft::describe(error).c_str());
    return 1;
  }
}
