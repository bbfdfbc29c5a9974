// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "base/log.h"
#include "evaluate/map/input_vectors.h"
#include "evaluate/map/vector_map.h"
#include "launch/commands.h"
#include "launch/model_options.h"
#include "launch/text_output.h"
#include "pages/page.h"
#include "pages/vectors_page.h"

namespace weft {
namespace {

struct EmbedArguments {
  ModelArguments model;
  std::string out, map;
  bool tokens = false, positions = false, inputs = false;
};

std::vector<std::string> lines_of_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  return lines;
}

void write_map(const EmbedArguments& a, const std::string& page) {
  write_page(a.map, page);
  log_info("wrote {}; open it in a browser", a.map);
}

ExitCode embed(const EmbedArguments& a) {
  std::vector<std::string> labels;
  if (!a.positions) labels = lines_of_input();
  if (!a.map.empty()) require_replaceable(a.map);
  if (!a.map.empty() && !a.positions && !a.inputs) require_mappable(std::ssize(labels));
  require<DataError>(!a.inputs || labels.size() == 1, "--inputs takes one line, not {}", labels.size());
  Session session = Session::alone(a.model.device);
  const LoadedModel loaded = a.model.load(session);
  const std::string model = loaded.path.string();
  if (a.inputs) {
    write_map(a, inputs_page(model, labels[0], input_vectors(loaded, labels[0])));
    return ExitCode::Done;
  }
  const VectorRows vectors = a.positions
                                 ? position_vectors(loaded, kMostMapped)
                                 : text_vectors(loaded, labels, a.tokens ? VectorSource::Tokens : VectorSource::States);
  for (int64_t i = 0; a.positions && i < vectors.count(); ++i) labels.push_back(std::to_string(i));
  if (!a.out.empty()) write_vectors(a.out, vectors, cosine_similarities(vectors));
  if (a.model.json) print_vectors(a.positions ? "position" : "text", labels, vectors);
  if (!a.map.empty()) {
    write_map(a, map_page(model, a.positions ? MapOf::Positions : MapOf::Texts, vector_map(labels, vectors)));
  } else if (a.out.empty() && !a.model.json) {
    print_similarities(labels, cosine_similarities(vectors));
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
      "  weft embed --checkpoint runs/NAME --map map.html <lines.txt\n"
      "  weft embed --checkpoint runs/NAME --positions --map positions.html\n"
      "  echo 'a red boat' | weft embed --checkpoint runs/NAME --inputs --map inputs.html\n"
      "--out: /vectors (f32, lines x width) and /similarities (f64, lines x lines). --map: docs/pictures.md.");
  a->model.add_to(command, "One JSON object per line, with its text and vector, on standard output");
  Option tokens = command.add_flag("--tokens", a->tokens, "Average token embeddings instead of hidden states");
  Option out = command.add_option("--out", a->out, "HDF5 file to write vectors and similarities to").type_name("FILE");
  Option map = command
                   .add_option("--map", a->map,
                               "Page to write for a browser (.html): the vectors in two dimensions, their nearest "
                               "neighbours and similarities. A page of weft is replaced, nothing else is")
                   .type_name("FILE");
  Option positions = command.add_flag("--positions", a->positions, "The vectors of positions instead of texts");
  positions.excludes(tokens);
  Option inputs = command.add_flag("--inputs", a->inputs,
                                   "With --map: what the first layer reads for each token of one line: its vector, "
                                   "its position's, and their sum");
  inputs.needs(map).excludes(out).excludes(tokens).excludes(positions).excludes(command.option("--json"));
  command.on_parsed([=, &action] { action = [=] { return embed(*a); }; });
}

}  // namespace weft
