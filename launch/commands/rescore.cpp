// SPDX-License-Identifier: Apache-2.0
#include "base/config/reader.h"
#include "base/output.h"
#include "evaluate/rescoring.h"
#include "launch/commands.h"
#include "launch/json_line.h"
#include "launch/line_files.h"
#include "launch/line_options.h"
#include "launch/search_options.h"
#include "parallel/agree.h"

namespace weft {
namespace {

struct RescoreArguments {
  SearchArguments search = SearchArguments({.method = SearchMethod::Greedy});
  std::string sources, translations;
  LineArguments lines;
};

using Lines = std::vector<std::vector<std::string>>;  // the lines of each file

// Rank 0 reads and sends the lines to all ranks. Lines may be any bytes, which JSON cannot hold.
Lines next_lines(Communicator& world, std::optional<ParallelLines>& files, const RescoreArguments& a, int64_t most) {
  const std::string read = agree(world, [&] {
    if (!files) files.emplace({a.sources, a.translations});
    const auto bytes = nlohmann::json::to_msgpack(files->next(most));
    return std::string(bytes.begin(), bytes.end());
  });
  return nlohmann::json::from_msgpack(read).get<Lines>();
}

std::string rescored_line(const RescoredPair& pair, int64_t index, bool json) {
  if (!json) return fmt::format("{:.6f}\t{:.6f}\t{}\n", pair.log_probability, pair.score, pair.tokens.size());
  nlohmann::json line = pair;
  line["index"] = index;
  return json_line(line) + "\n";
}

ExitCode rescore_files(const RescoreArguments& a) {
  const SearchConfig config = a.search.config();
  return a.lines.run([&](Session& session, const LoadedModel& loaded) {
    const TextGenerator generator = text_generator(loaded);
    Communicator& world = session.mesh().world();
    std::optional<ParallelLines> files;
    int64_t index = 0;
    for (Lines lines;
         !(lines = next_lines(world, files, a, a.lines.batch_lines * session.mesh().dp().size()))[0].empty();) {
      const auto scored = rescore(generator, lines[0], lines[1], config, index);
      agree(world, [&] {
        std::string text;
        for (size_t i = 0; i < scored.size(); ++i)
          text += rescored_line(scored[i], index + static_cast<int64_t>(i), a.lines.model.json);
        print(text);
        return std::string();
      });
      index += std::ssize(scored);
    }
  });
}

}  // namespace

void add_rescore_command(Command& app, Action& action) {
  Command command = app.add_command(
      "rescore", "Log-probability and score of given translations under a translation model, one line per pair.",
      Workers::Ranks);
  auto a = std::make_shared<RescoreArguments>();
  command.footer(
      "  weft rescore source.txt translations.txt --checkpoint runs/NAME --length-penalty 0.6\n"
      "Prints, separated by tabs: log P(translation | source) (natural logarithm), the score that a search ranks by\n"
      "(the log-probability over the length penalty, end token included) and the number of tokens. --json adds the\n"
      "tokens and the log-probability of each. The only translation of an empty source is the empty one.\n");
  command.add_option("sources", a->sources, "Text, one sentence per line (may be gzipped); -: standard input")
      .required()
      .type_name("FILE");
  command.add_option("translations", a->translations, "Their translations, line by line; -: standard input")
      .required()
      .type_name("FILE");
  a->search.add_short_form(command, "--length-penalty", "length_penalty", "alpha of the length penalty in the score");
  a->search.add_short_form(command, "--penalty-form", "penalty_form",
                           "power: score / len^alpha; gnmt: score / ((5 + len) / 6)^alpha");
  a->lines.add_to(command);
  command.on_parsed([=, &action] { action = [=] { return rescore_files(*a); }; });
}

}  // namespace weft
