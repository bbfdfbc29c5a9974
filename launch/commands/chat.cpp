// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "base/error.h"
#include "launch/command_line/choice_option.h"
#include "launch/commands.h"
#include "launch/model_options.h"
#include "launch/search_options.h"
#include "launch/text_output.h"

namespace weft {
namespace {

struct ChatArguments {
  ModelArguments model;
  SearchArguments search =
      SearchArguments({.method = SearchMethod::Sample, .max_length_factor = 0, .max_length_extra = 500});
  std::optional<ChatTemplateName> form;
  std::string system, messages;
};

// The template that the model was trained with, or the one that is named.
ChatConfig form_of(const ChatArguments& a, const JobConfig& job) {
  ChatConfig form = job.data.chat;
  if (a.form) {
    form = ChatConfig{.name = *a.form, .system = form.system};
  } else if (job.data.format != TextFormat::Messages) {
    throw ConfigError("the model was not trained on conversations, so it has no template of them",
                      "train it on data.format: messages, or name a template with --template; weft generate continues "
                      "texts");
  }
  if (!a.system.empty()) form.system = a.system;
  return form;
}

ExitCode run_chat(const ChatArguments& a) {
  const SearchConfig search = a.search.config();  // reports what does not fit before the model is loaded
  require<ConfigError>(search.n_best == 1, "a message has one answer, not {}", search.n_best);
  Session session = Session::alone(a.model.device);
  const LoadedModel loaded = a.model.load(session);
  require_task(loaded, Task::Gpt, "use weft translate");
  const TextGenerator generator = text_generator(loaded);
  Chat chat(generator, form_of(a, loaded.job), search);
  a.messages.empty() ? answer_lines(chat) : answer_file(chat, a.messages, loaded.job.data.messages_field);
  return ExitCode::Done;
}

}  // namespace

void add_chat_command(Command& app, Action& action) {
  Command command = app.add_command(
      "chat", "Talk with a language model that was trained on conversations, by the template that it was trained with.",
      Workers::OneProcess);
  auto a = std::make_shared<ChatArguments>();
  command.footer(
      "  weft chat --checkpoint runs/NAME\n"
      "  weft chat --checkpoint imported --template chatml --system 'Answer in Norwegian.' --temperature 0.7\n"
      "  weft chat --checkpoint runs/NAME --messages questions.jsonl --beam 1 >answers.jsonl\n\n"
      "Each line is a message; the model remembers what was said. /new begins another conversation, Ctrl-D ends.\n"
      "Elsewhere than on a terminal the lines of standard input are the messages.\n\n" +
      a->search.help());
  a->model.add_to(command, nullptr);
  a->model.add_weights_to(command);
  a->search.add_to(command);
  add_choice_of<ChatTemplateName>(command, "--template", a->form,
                                  "What stands around messages, if the model's job does not say it (weft keys "
                                  "data.chat.template)",
                                  "NAME");
  command.add_option("--system", a->system, "The system's text; without it data.chat.system of the model's job");
  command
      .add_option("--messages", a->messages,
                  "Answer the conversations of this file instead, JSON lines as of data.format: messages (-: standard "
                  "input), and print them with the answers")
      .type_name("FILE");
  a->search.add_short_form(command, "--max-tokens", "max_length_extra", "Maximum number of tokens of an answer");
  command.on_parsed([=, &action] { action = [=] { return run_chat(*a); }; });
}

}  // namespace weft
