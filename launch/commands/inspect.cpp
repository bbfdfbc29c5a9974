// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/inspect.h"

#include "base/config/reader.h"
#include "base/output.h"
#include "checkpoint/manifest.h"
#include "data/dataset/manifest.h"
#include "job/loaded_model.h"
#include "launch/commands.h"
#include "launch/inspect_output.h"
#include "launch/job_options.h"
#include "plan/parameter_tree.h"

namespace weft {
namespace {

struct InspectArguments {
  std::string path;
  std::vector<std::string> overrides;
  bool verify = false, with_job = false;
  ShownRecords shown{.tokens = 200};
  StatisticsOptions statistics;
};

void inspect_dataset(const fs::path& path, const InspectArguments& a) {
  if (a.statistics.wanted) {
    print_statistics(path, a.statistics);
  } else if (a.shown.count > 0) {
    print(show_records(path, a.shown));
  } else {
    print(describe_dataset(path));
  }
  if (a.verify) print_verified(path);
}

ExitCode inspect(const InspectArguments& a) {
  const auto& [path, overrides, verify, with_job, shown, statistics] = a;
  const fs::path p = path;
  require<DataError>(fs::exists(p), "{}: no such file or directory", path);
  if (p.extension() == ".h5" || p.filename() == kManifestName || p.filename() == kCheckpointManifest) {
    throw ConfigError(fmt::format("{} is a part of a dataset or checkpoint", path), "give the directory that holds it");
  }
  if ((shown.count > 0 || statistics.wanted) && !is_prepared(p)) {
    throw ConfigError(fmt::format("{} is not a prepared dataset; --show and --statistics are for one", path),
                      "give the directory that weft prepare wrote (data.directory)");
  }
  if (is_prepared(p)) {
    inspect_dataset(p, a);
  } else if (fs::is_directory(p)) {
    print_directory(p, verify, with_job);
  } else if (p.extension() == ".json") {
    print_tokenizer(p);
  } else if (p.extension() != ".yaml" && p.extension() != ".yml") {
    throw ConfigError(fmt::format("{}: cannot show a file of this kind", path),
                      "give a dataset's, run's or checkpoint's directory, a tokenizer's .json, or a job's .yaml");
  } else {
    print(parameter_tree(load_job(path, overrides)));
  }
  return ExitCode::Done;
}

}  // namespace

void add_inspect_command(Command& app, Action& action) {
  Command command = app.add_command(
      "inspect", "Show a dataset, a checkpoint, a tokenizer, a job's model as a tree, or what a folder holds of these.",
      Workers::OneProcess);
  command.footer(
      "  weft inspect job.yaml --set model.width=256\n"
      "  weft inspect prepared/my-text --verify\n"
      "  weft inspect prepared/my-text --show 3 --from 100\n"
      "  weft inspect prepared/my-text --statistics --json\n"
      "  weft inspect prepared/my-text --statistics --top 50 --out my-text.html\n"
      "  weft inspect runs/NAME/checkpoints/step-00001000");
  auto a = std::make_shared<InspectArguments>();
  command
      .add_option("path", a->path,
                  "Directory of datasets, runs or checkpoints, or of one; a tokenizer's .json; a job's .yaml")
      .required()
      .type_name("PATH");
  add_set_option(command, a->overrides);
  command.add_flag("--verify", a->verify, "Read everything and verify the checksums");
  command.add_flag("--job", a->with_job, "With a checkpoint: also the resolved job that it was trained with");
  Option show = command.add_option("--show", a->shown.count, "With a dataset: N documents or pairs of each split")
                    .positive()
                    .type_name("N");
  command.add_option("--from", a->shown.from, "The first record that --show shows; 0 is a split's first")
      .not_negative()
      .needs(show)
      .type_name("K");
  command.add_option("--tokens", a->shown.tokens, "Tokens that --show shows of each text at most; 0: all")
      .not_negative()
      .needs(show)
      .type_name("N");
  add_statistics_options(command, a->statistics, show);
  command.on_parsed([=, &action] { action = [=] { return inspect(*a); }; });
}

}  // namespace weft
