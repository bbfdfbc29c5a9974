// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

#include "base/error.h"

namespace weft {

// The work of the chosen subcommand, done once the command line is parsed.
using Action = std::function<ExitCode()>;

// Each function adds one subcommand with its help; parsing the subcommand sets `action`.
void add_prepare_command(CLI::App& app, Action& action);
void add_plan_command(CLI::App& app, Action& action);
void add_train_command(CLI::App& app, Action& action);
void add_evaluate_command(CLI::App& app, Action& action);
void add_score_command(CLI::App& app, Action& action);
void add_translate_command(CLI::App& app, Action& action);
void add_rescore_command(CLI::App& app, Action& action);
void add_generate_command(CLI::App& app, Action& action);
void add_choose_command(CLI::App& app, Action& action);
void add_embed_command(CLI::App& app, Action& action);
void add_tokenize_command(CLI::App& app, Action& action);
void add_detokenize_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_jobs_command(CLI::App& app, Action& action);
void add_keys_command(CLI::App& app, Action& action);
void add_import_command(CLI::App& app, Action& action);
void add_export_command(CLI::App& app, Action& action);
void add_average_command(CLI::App& app, Action& action);
void add_merge_command(CLI::App& app, Action& action);
void add_validate_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_bench_decode_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);
void add_manual_command(CLI::App& app, Action& action);
void add_completion_command(CLI::App& app, Action& action);

}  // namespace weft
