// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/output.h"
#include "generate/text_vectors.h"
#include "launch/commands.h"
#include "launch/json_line.h"
#include "launch/model_options.h"

namespace weft {
namespace {

struct EmbedArguments {
  ModelArguments model;
  std::string out;
  bool tokens = false;
};

void print_json(const std::vector<std::string>& texts, const TextVectors& vectors) {
  for (int64_t i = 0; i < vectors.texts(); ++i) {
    const auto row = vectors.row(i);
    const nlohmann::ordered_json line = {{"text", texts[i]}, {"vector", std::vector<float>(row.begin(), row.end())}};
    print(json_line(line) + "\n");
  }
}

// One row of the matrix per text, followed by the text.
void print_similarities(const std::vector<std::string>& texts, const std::vector<double>& similarities) {
  for (size_t a = 0; a < texts.size(); ++a) {
    std::string line;
    for (size_t b = 0; b < texts.size(); ++b) line += fmt::format("{:7.3f}", similarities[a * texts.size() + b]);
    print(fmt::format("{}  {}\n", line, texts[a]));
  }
}

ExitCode embed(const EmbedArguments& a) {
  std::vector<std::string> texts;
  for (std::string line; std::getline(std::cin, line);) texts.push_back(line);
  Session session = Session::alone(a.model.device);
  const LoadedModel loaded = a.model.load(session);
  const TextVectors vectors = text_vectors(loaded, texts, a.tokens ? VectorSource::Tokens : VectorSource::States);
  if (!a.out.empty()) write_vectors(a.out, vectors, cosine_similarities(vectors));
  if (a.model.json) {
    print_json(texts, vectors);
  } else if (a.out.empty()) {
    print_similarities(texts, cosine_similarities(vectors));
  }
  return ExitCode::Done;
}

}  // namespace

void add_embed_command(Command& app, Action& action) {
  Command command = app.add_command(
      "embed",
      "A vector for each line of standard input, the mean of its tokens' last hidden states. Prints the cosine "
      "similarities of all pairs.",
      Workers::OneProcess);
  auto a = std::make_shared<EmbedArguments>();
  command.footer(
      "  printf 'a red boat\\na blue ship\\nthe king\\n' | weft embed --checkpoint runs/NAME\n"
      "  weft embed --checkpoint runs/NAME --out vectors.h5 <lines.txt\n"
      "The file has /vectors (f32, lines x width) and /similarities (f64, lines x lines).");
  a->model.add_to(command, "One JSON object per line, with its text and vector, on standard output");
  command.add_flag("--tokens", a->tokens, "Average token embeddings instead of hidden states");
  command.add_option("--out", a->out, "HDF5 file to write vectors and similarities to").type_name("FILE");
  command.on_parsed([=, &action] { action = [=] { return embed(*a); }; });
}

}  // namespace weft
