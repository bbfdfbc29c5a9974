#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/config/reader.h"
#include "base/log.h"
#include "bench/parameter_tree.h"
#include "checkpoint/reader.h"
#include "data/dataset_inspect.h"
#include "data/dataset_manifest.h"
#include "data/tokenizer/tokenizer.h"
#include "evaluate/loaded_model.h"
#include "launch/commands.h"
#include "trainer/provenance.h"

namespace weft {
namespace {

void inspect_checkpoint(const fs::path& path, bool verify, bool with_job) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  const CheckpointManifest& m = checkpoint.manifest();
  std::printf("checkpoint %s: step %ld\nstate %s\nfingerprint %s\n", path.c_str(), static_cast<long>(m.step),
              m.state.dump().c_str(), m.fingerprint.dump().c_str());
  std::printf("%s", describe_provenance(m.provenance).c_str());
  if (with_job) std::printf("job\n%s", m.job.c_str());
  uint64_t bytes = 0;
  for (const CheckpointFile& file : m.files) bytes += file.bytes;
  std::printf("%zu files, %.1f MiB, %zu tensors\n", m.files.size(), static_cast<double>(bytes) / (1 << 20),
              checkpoint.tensors("master").size());
  for (const auto& [name, shape] : checkpoint.tensors("master")) {
    std::printf("  %-48s %s\n", name.c_str(), shape.text().c_str());
  }
  if (!verify) return;
  verify_checkpoint(path, m);
  std::printf("every checksum is right\n");
}

void inspect_tokenizer(const fs::path& path) {
  const auto tokenizer = Tokenizer::load(path);
  std::printf("tokenizer %s: %s, %ld ids, hash %016lx\n", path.c_str(), tokenizer->kind().c_str(),
              static_cast<long>(tokenizer->vocabulary()), static_cast<unsigned long>(tokenizer->hash()));
  for (const SpecialToken& s : tokenizer->specials()) std::printf("  %8d  %s\n", s.id, s.name.c_str());
}

void verify_whole_dataset(const fs::path& path) {
  const std::vector<std::string> findings = verify_dataset(path);
  if (!findings.empty())
    throw DataError(fmt::format("{}: {}", path.string(), fmt::join(findings, "\n  ")), "prepare it again");
  std::printf("every checksum is right\n");
}

ExitCode inspect(const std::string& path, const std::vector<std::string>& overrides, bool verify, bool with_job) {
  const fs::path p = path;
  require<DataError>(fs::exists(p), "{}: no such file or directory", path);
  if (p.extension() == ".h5" || p.filename() == kManifestName || p.filename() == kCheckpointManifest) {
    throw ConfigError(fmt::format("{} is a part of a dataset or checkpoint", path), "give the directory that holds it");
  }
  if (is_prepared(p)) {
    std::printf("%s", describe_dataset(p).c_str());
    if (verify) verify_whole_dataset(p);
  } else if (fs::is_directory(p)) {
    inspect_checkpoint(resolve_checkpoint(p, false), verify, with_job);
  } else if (p.extension() == ".json") {
    inspect_tokenizer(p);
  } else if (p.extension() != ".yaml" && p.extension() != ".yml") {
    throw ConfigError(fmt::format("{} is nothing that can be shown", path),
                      "give a dataset's, run's or checkpoint's directory, a tokenizer's .json, or a job's .yaml");
  } else {
    std::printf("%s", parameter_tree(load_job(path, overrides)).c_str());
  }
  return ExitCode::Done;
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "inspect", "Show a dataset, a checkpoint, a tokenizer, or a job's model as a tree with shapes and counts.");
  command->footer(
      "  weft inspect job.yaml --set model.width=256\n"
      "  weft inspect prepared/my-text --verify\n"
      "  weft inspect runs/NAME/checkpoints/step-00001000");
  auto path = std::make_shared<std::string>();
  auto overrides = std::make_shared<std::vector<std::string>>();
  auto verify = std::make_shared<bool>(false), with_job = std::make_shared<bool>(false);
  command->add_option("path", *path, "A dataset's or run's directory, a tokenizer's .json, a job's .yaml")->required();
  command->add_option("--set", *overrides, "Change one field of the job")->type_name("KEY=VALUE");
  command->add_flag("--verify", *verify, "Read everything and compare checksums");
  command->add_flag("--job", *with_job, "Of a checkpoint, also the resolved job that it was trained with");
  command->callback([=, &action] { action = [=] { return inspect(*path, *overrides, *verify, *with_job); }; });
}

}  // namespace weft
