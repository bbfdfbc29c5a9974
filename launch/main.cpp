// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "base/config/value.h"
#include "base/log.h"
#include "base/mpi.h"
#include "base/output.h"
#include "base/process/exit_file.h"
#include "kernels/device/devices.h"
#include "launch/build_info.h"
#include "launch/command_line/help.h"
#include "launch/commands.h"

namespace weft {
namespace {

constexpr const char* kFooter =
    "A first run:\n"
    "  weft jobs sample-translation > job.yaml\n"
    "  weft prepare job.yaml\n"
    "  mpirun -np 2 --bind-to none weft train job.yaml\n"
    "  weft evaluate job.yaml --split test\n"
    "weft COMMAND --help explains a command, weft keys lists the keys of a job.\n"
    "Exit codes: 0 done, 2 bad configuration or arguments, 3 bad data or checkpoint, 4 divergence, 5 a peer died or\n"
    "hung, 6 another run owns the run directory, 7 restarts without progress, 8 a device or a disk failed, perhaps for "
    "a\n"
    "moment, 9 weft verify found a difference, 75 saved and stopped by a signal or by train.max_time (rerun the same\n"
    "command to resume).";

// Before the ranks work together all of them read the same command line and the same job, and fail with the same error.
// Rank 0 prints the error, and when it exits the launcher ends the other ranks. A rank that is still running after this
// wait has a different error, and prints that.
void wait_for_rank0_error() {
  if (find_launcher().rank.value_or(0) > 0) std::this_thread::sleep_for(std::chrono::seconds(5));
}

// Reports the error and aborts MPI, since other ranks may wait for this rank without having its error.
int fail(ExitCode code, const std::string& text) {
  wait_for_rank0_error();
  log_error("{}", text);
  write_exit_file(static_cast<int>(code), text);
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (initialised && !finalised) MpiEnvironment::abort(static_cast<int>(code));
  return static_cast<int>(code);
}

// The first word decides the meaning of the other words, so a wrong first word is reported before anything else.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::ranges::find(names, argv[1]) != names.end()) return;
  const std::string nearest = nearest_name(argv[1], names);
  throw ConfigError(
      fmt::format("weft has no command '{}'", argv[1]),
      fmt::format("{}its commands are {}", nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest),
                  fmt::join(names, ", ")));
}

// The help lists the commands in groups, in this order.
void add_commands(CLI::App& app, Action& action) {
  Command root(app);
  const std::vector<std::pair<const char*, std::vector<void (*)(Command&, Action&)>>> groups = {
      {"data", {add_prepare_command, add_tokenize_command, add_detokenize_command, add_inspect_command}},
      {"training",
       {add_jobs_command, add_keys_command, add_validate_command, add_plan_command, add_train_command,
        add_verify_command, add_average_command, add_merge_command}},
      {"texts", {add_translate_command, add_generate_command, add_chat_command, add_embed_command}},
      {"scores",
       {add_evaluate_command, add_score_command, add_rescore_command, add_choose_command, add_likelihood_command}},
      {"looking at runs and models", {add_report_command, add_watch_command, add_attention_command}},
      {"exchange with other programs", {add_import_command, add_export_command, add_export_ct2_command}},
      {"the machine", {add_doctor_command, add_bench_command, add_bench_decode_command}},
      {"the shell and the manual", {add_completion_command, add_manual_command}},
  };
  for (const auto& [purpose, commands] : groups) {
    for (const auto add : commands) {
      add(root, action);
      app.get_subcommands({}).back()->group(fmt::format("Commands for {}", purpose));
    }
  }
}

int run(int argc, char** argv) {
  CLI::App app("weft trains transformers on many devices: translation, GPT pretraining, GPT-2 finetuning.", "weft");
  app.footer(kFooter);
  app.formatter(help_formatter());
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text, "The version, the git revision and the libraries");
  const LauncherInfo launcher = find_launcher();
  start_logging(launcher.rank.value_or(0), launcher.world_size.value_or(1));
  if (launcher.present) load_kernels_with_the_device();
  Action action;
  add_commands(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) wait_for_rank0_error();
    refuse_unknown_command(app, argc, argv);
    std::ostringstream asked, wrong;
    const int code = app.exit(error, asked, wrong);
    print(asked.str());
    write_lines(STDERR_FILENO, wrong.str());
    return code == 0 ? 0 : static_cast<int>(ExitCode::BadConfig);
  }
  return static_cast<int>(action());
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  // Beyond a limit on file sizes (ulimit -f), a write fails with a message instead of killing the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int code = weft::run(argc, argv);
    weft::write_exit_file(code);
    return code;
  } catch (const weft::Error& error) {
    return weft::fail(error.code(), weft::describe(error));
  } catch (const std::exception& error) {
    return weft::fail(weft::ExitCode::Internal, weft::describe(error));
  }
}
