#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/config/reader.h"
#include "base/log.h"
#include "evaluate/loaded_model.h"
#include "evaluate/translator.h"
#include "launch/commands.h"
#include "launch/help.h"
#include "parallel/session.h"

namespace weft {
namespace {

struct WriteArguments {
  std::string checkpoint;
  bool best = false;
  bool json = false;
  std::vector<std::string> search;  // --set of the search section
  std::optional<int64_t> beam;
  std::optional<double> temperature;
  std::optional<int64_t> top_k;
  std::optional<double> top_p;
  std::optional<int64_t> seed;
  std::optional<int64_t> n_best;
  std::optional<int64_t> max_tokens;
};

void add_write_options(CLI::App& command, WriteArguments& a) {
  command.add_option("--checkpoint", a.checkpoint, "A run directory (its latest checkpoint) or a checkpoint")
      ->required();
  command.add_flag("--best", a.best, "Of a run directory, the checkpoint with the lowest validation loss");
  command.add_option("--beam", a.beam, "Beam search with so many hypotheses");
  command.add_option("--temperature", a.temperature, "Sample: logits are divided by it; 0 takes the likeliest token");
  command.add_option("--top-k", a.top_k, "Sample among the k likeliest tokens");
  command.add_option("--top-p", a.top_p, "Sample among the likeliest tokens that together reach this probability");
  command.add_option("--seed", a.seed, "Seed of the samples");
  command.add_option("--n-best", a.n_best, "Texts for each input");
  command.add_option("--search", a.search, "Any other field of the search: --search no_repeat_ngram=3")
      ->type_name("KEY=VALUE");
  command.add_flag("--json", a.json, "One JSON object a text");
}

// What weft generate does unless it is told otherwise.
const SearchConfig kGenerate{.method = SearchMethod::Sample, .max_length_factor = 0, .max_length_extra = 100};

// --search beam=N is read by beam search alone: with another method it would be without effect.
void check_beam(const WriteArguments& a, const SearchConfig& c) {
  const bool given = std::ranges::any_of(a.search, [](const std::string& text) { return text.starts_with("beam="); });
  if (!given || c.method == SearchMethod::Beam || c.beam == 1) return;
  throw ConfigError(fmt::format("--search beam={}: the method is {}, which has no beam", c.beam, enum_name(c.method)),
                    fmt::format("use --beam {}, or add --search method=beam", c.beam));
}

SearchConfig search_config(const WriteArguments& a, const SearchConfig& base) {
  SearchConfig c = read_options("--search", a.search, base);
  if (a.temperature || a.top_k || a.top_p) c.method = SearchMethod::Sample;
  if (a.beam) c.method = *a.beam > 1 ? SearchMethod::Beam : SearchMethod::Greedy, c.beam = *a.beam;
  if (a.temperature) c.temperature = *a.temperature;
  if (a.top_k) c.top_k = *a.top_k;
  if (a.top_p) c.top_p = *a.top_p;
  if (a.seed) c.seed = *a.seed;
  if (a.n_best) c.n_best = *a.n_best;
  if (a.max_tokens) c.max_length_factor = 0, c.max_length_extra = *a.max_tokens;
  check_beam(a, c);
  check(c);
  return c;
}

void print_texts(const Writer& writer, const std::vector<std::string>& inputs,
                 const std::vector<std::vector<Hypothesis>>& texts, bool json, bool with_prompt) {
  for (size_t i = 0; i < texts.size(); ++i) {
    for (const Hypothesis& h : texts[i]) {
      const std::string text = writer.text(h);
      if (json) {
        nlohmann::json line = h;
        line["input"] = inputs[i], line["text"] = text;
        std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
      } else {
        std::printf("%s%s\n", with_prompt ? inputs[i].c_str() : "", text.c_str());
      }
    }
  }
}

ExitCode write_texts(const WriteArguments& a, const std::vector<std::string>& inputs, Task task, SearchConfig base) {
  Session session = Session::alone();
  const LoadedModel loaded = load_model(session.context(), session.mesh(), a.checkpoint, a.best);
  if (loaded.job.task != task) {
    throw ConfigError(fmt::format("{} holds a {} model", loaded.path.string(), enum_name(loaded.job.task)),
                      task == Task::Translation ? "use weft generate" : "use weft translate");
  }
  const Writer writer{*loaded.model, loaded.job, *loaded.source_tokenizer, *loaded.target_tokenizer};
  print_texts(writer, inputs, writer.write(inputs, search_config(a, base)), a.json, task == Task::Gpt);
  return ExitCode::Done;
}

}  // namespace

void add_translate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("translate", "Translate standard input to standard output, a sentence a line.");
  command->footer(
      "  echo 'Tomorrow I will buy two old houses.' | weft translate --checkpoint runs/NAME --beam 5\n"
      "  weft translate --checkpoint runs/NAME --temperature 0.8 --top-p 0.9 --seed 2 --n-best 3 <sentences.txt\n\n" +
      fields_help<SearchConfig>("--search"));
  auto a = std::make_shared<WriteArguments>();
  add_write_options(*command, *a);
  command->callback([=, &action] {
    action = [=] {
      std::vector<std::string> lines;
      for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
      return write_texts(*a, lines, Task::Translation, {});
    };
  });
}

void add_generate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("generate", "Continue a prompt with a language model.");
  command->footer(
      "  weft generate --checkpoint runs/NAME --prompt 'Once upon a time' --temperature 0.8 --top-k 200 --n-best "
      "3\n\n" +
      fields_help<SearchConfig>("--search", kGenerate));
  auto a = std::make_shared<WriteArguments>();
  auto prompts = std::make_shared<std::vector<std::string>>();
  add_write_options(*command, *a);
  command->add_option("--prompt", *prompts, "Text to continue (may be repeated); none begins a document");
  command->add_option("--max-tokens", a->max_tokens, "Tokens to write at most (default 100)");
  command->callback([=, &action] {
    action = [=] {
      if (prompts->empty()) prompts->emplace_back();
      return write_texts(*a, *prompts, Task::Gpt, kGenerate);
    };
  });
}

}  // namespace weft
