// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/log.h"
#include "base/output.h"
#include "evaluate/attention_files.h"
#include "launch/attention_form.h"
#include "launch/commands.h"
#include "launch/model_options.h"

namespace weft {
namespace {

struct AttentionArguments {
  ModelArguments model;
  std::vector<std::string> texts, outs;
  std::string head;
};

AttentionQuestion question_of(const AttentionArguments& a, const std::vector<std::string>& outs) {
  require<ConfigError>(a.texts.size() <= 2, "{} texts; give a text, or a source and its translation", a.texts.size());
  AttentionQuestion question{.text = a.texts[0],
                             .most_weights = a.model.json ? kMostWeightsInJson : kMostWeightsInHdf5};
  if (a.texts.size() == 2) question.translation = a.texts[1];
  if (!a.head.empty()) question.head = alignment_head(a.head);
  for (const std::string& out : outs)
    question.most_weights = std::min(question.most_weights, attention_form(out).most_weights);
  return question;
}

ExitCode attention(const AttentionArguments& a) {
  std::vector<std::string> outs = a.outs;
  if (outs.empty() && !a.model.json) outs = {"attention.html"};
  const AttentionQuestion question = question_of(a, outs);
  for (const std::string& out : outs) attention_form(out).check_name(out);
  Session session = Session::alone(a.model.device);
  const TextAttention found = text_attention(a.model.load(session), question);
  if (a.model.json) print(attention_json(found));
  for (const std::string& out : outs) {
    attention_form(out).write(out, found);
    log_info("wrote {}{}", out, fs::path(out).extension() == ".html" ? "; open it in a browser" : "");
  }
  if (found.alignment) log_info("the head that aligns is {}", text_of(found.alignment->head));
  return ExitCode::Done;
}

}  // namespace

void add_attention_command(Command& app, Action& action) {
  Command command = app.add_command(
      "attention",
      "Show what each layer and head of a model attends to in a text, or between a sentence and its translation.",
      Workers::OneProcess);
  auto a = std::make_shared<AttentionArguments>();
  command.footer(
      "  weft attention 'The animal did not cross the street because it was too tired' --checkpoint runs/GPT\n"
      "  weft attention 'Tomorrow I will buy two old houses.' --checkpoint runs/TRANSLATION\n"
      "  weft attention 'I sleep.' 'Jeg sover.' --checkpoint runs/TRANSLATION --out sleep.html --out sleep.h5\n"
      "A language model takes one text. A translation model takes a sentence and shows it with its own translation\n"
      "(beam search), or with the one that is given. The page is one file for a browser: tokens on both axes, as a\n"
      "matrix or lines, every layer and head and their mean, each head's entropy, and, of a translation, which words\n"
      "belong together by the head that aligns best. docs/attention.md describes page, JSON and HDF5.");
  command.add_option("texts", a->texts, "A text; or a sentence and its translation").required().type_name("TEXT");
  a->model.add_to(command, "One JSON object on standard output");
  command
      .add_option("--out", a->outs,
                  "File to write: a page (.html), JSON (.json) or HDF5 (.h5); repeatable. Without it, and without "
                  "--json, attention.html. A page of weft is replaced, nothing else is")
      .type_name("FILE")
      .one_value_each();
  command
      .add_option("--alignment-head", a->head,
                  "The head that aligns a translation, LAYER:HEAD:predicted or LAYER:HEAD:read as the command names "
                  "it, instead of the one that aligns this one best")
      .type_name("HEAD");
  command.on_parsed([=, &action] { action = [=] { return attention(*a); }; });
}

}  // namespace weft
