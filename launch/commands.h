// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "base/error.h"
#include "launch/command_line/command.h"

namespace weft {

// The work of the chosen subcommand, done once the command line is parsed.
using Action = std::function<ExitCode()>;

// Each function adds one subcommand with its help; parsing the subcommand sets `action`.
void add_prepare_command(Command& app, Action& action);
void add_plan_command(Command& app, Action& action);
void add_train_command(Command& app, Action& action);
void add_evaluate_command(Command& app, Action& action);
void add_score_command(Command& app, Action& action);
void add_translate_command(Command& app, Action& action);
void add_rescore_command(Command& app, Action& action);
void add_generate_command(Command& app, Action& action);
void add_chat_command(Command& app, Action& action);
void add_likelihood_command(Command& app, Action& action);
void add_choose_command(Command& app, Action& action);
void add_embed_command(Command& app, Action& action);
void add_tokenize_command(Command& app, Action& action);
void add_detokenize_command(Command& app, Action& action);
void add_inspect_command(Command& app, Action& action);
void add_jobs_command(Command& app, Action& action);
void add_keys_command(Command& app, Action& action);
void add_import_command(Command& app, Action& action);
void add_export_command(Command& app, Action& action);
void add_export_ct2_command(Command& app, Action& action);
void add_verify_command(Command& app, Action& action);
void add_average_command(Command& app, Action& action);
void add_merge_command(Command& app, Action& action);
void add_validate_command(Command& app, Action& action);
void add_bench_command(Command& app, Action& action);
void add_bench_decode_command(Command& app, Action& action);
void add_attention_command(Command& app, Action& action);
void add_report_command(Command& app, Action& action);
void add_watch_command(Command& app, Action& action);
void add_doctor_command(Command& app, Action& action);
void add_manual_command(Command& app, Action& action);
void add_completion_command(Command& app, Action& action);

}  // namespace weft
