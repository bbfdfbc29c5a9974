// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "generate/line_translation.h"
#include "launch/alignment_file.h"
#include "launch/command_line/choice_option.h"
#include "launch/commands.h"
#include "launch/line_files.h"
#include "launch/line_options.h"
#include "launch/search_options.h"
#include "launch/text_output.h"

namespace weft {
namespace {

struct TranslateArguments {
  SearchArguments search;
  std::string input = "-";
  std::string prefixes;
  bool interactive = false;
  LongLines long_lines = LongLines::Truncate;
  AlignmentArguments alignment;
  LineArguments lines;

  // Lines that are read before the first of them is translated: one line if a user types them.
  int64_t lines_at_once(const Mesh& mesh) const {
    const bool typed = input == "-" && isatty(STDIN_FILENO) != 0;
    return interactive || typed ? 1 : lines.batch_lines * mesh.dp().size();
  }
};

ExitCode translate(const TranslateArguments& a) {
  const SearchConfig search = a.search.config();
  a.alignment.check(a.lines.model.replica);
  return a.lines.run([&](Session& session, const LoadedModel& loaded) {
    const TextGenerator generator = text_generator(loaded);
    Progress console(session.is_rank0());
    const double began = steady_seconds();
    Pace pace;
    pace.reach(0);
    const int64_t at_once = a.lines_at_once(session.mesh());
    AlignmentFile alignment(a.alignment, loaded);
    const auto write = [&](const LineBatch& batch, const std::vector<NBest>& found) {
      console.clear();
      print_translations(generator, batch, found, search, a.lines.model.json);
      alignment.add(batch, found);
      const int64_t lines = batch.first + std::ssize(batch.lines);
      pace.reach(static_cast<double>(lines));
      if (at_once == 1 || steady_seconds() - began < 10) return;
      console.show(fmt::format("{} translated, {:.1f} lines/s", counted(lines, "line"), pace.per_second()));
    };
    const TranslatedLines done =
        translate_lines(generator, search, a.long_lines, line_reader(a.input, a.prefixes, at_once), write);
    console.clear();
    if (session.is_rank0()) alignment.commit();
    if (done.too_long == 0) return;
    log_info("{} of {} had more tokens than the model has positions ({}): {}", done.too_long,
             counted(done.lines, "line"), loaded.job.model.max_length,
             a.long_lines == LongLines::Truncate ? "they were translated up to there" : "theirs are empty lines");
  });
}

}  // namespace

void add_translate_command(Command& app, Action& action) {
  Command command = app.add_command(
      "translate", "Translate text line by line as it arrives: line n of the output translates line n of the input.",
      Workers::Ranks);
  auto a = std::make_shared<TranslateArguments>();
  command.footer(
      "  echo 'Tomorrow I will buy two old houses.' | weft translate --checkpoint runs/NAME --beam 5\n"
      "  weft translate sentences.txt.gz --checkpoint runs/NAME --temperature 0.8 --top-p 0.9 --seed 2 --n-best 3\n"
      "  mpirun -np 4 weft translate sentences.txt --checkpoint runs/NAME >translations.txt\n"
      "Line breaks within a translation are printed as spaces. A blank line has an empty translation. With --n-best\n"
      "above 1 the output is INDEX ||| TEXT ||| SCORE, where INDEX counts input lines from 0.\n\n" +
      a->search.help());
  command.add_option("input", a->input, "Text, one sentence per line (may be gzipped); none or -: standard input")
      .type_name("FILE");
  a->search.add_to(command);
  command.add_option("--prefix", a->prefixes, "File with a prefix for each translation, one per line")
      .type_name("FILE");
  a->alignment.add_to(command);
  a->lines.add_to(command);
  command.add_flag("--interactive", a->interactive, "Translate and flush every line by itself (default on a terminal)");
  add_choice_option(command, "--long-lines", a->long_lines,
                    "Lines with more tokens than the model has positions: truncate (with a warning), empty (an empty "
                    "line, with a warning) or stop",
                    "POLICY");
  command.on_parsed([=, &action] { action = [=] { return translate(*a); }; });
}

}  // namespace weft
