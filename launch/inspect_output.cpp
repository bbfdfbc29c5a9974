// SPDX-License-Identifier: Apache-2.0
#include "launch/inspect_output.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/output.h"
#include "base/progress.h"
#include "checkpoint/folder_contents.h"
#include "checkpoint/locate.h"
#include "checkpoint/reader.h"
#include "data/dataset/inspect.h"
#include "data/dataset/manifest.h"
#include "data/tokenizer/tokenizer.h"
#include "trainer/run/provenance.h"

namespace weft {

void print_checkpoint(const fs::path& path, bool verify, bool with_job) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  const CheckpointManifest& m = checkpoint.manifest();
  print(fmt::format("checkpoint {}: step {}\nstate {}\nfingerprint {}\n", path.string(), m.step, m.state.dump(),
                    m.fingerprint.dump()));
  print(describe_provenance(m.provenance));
  if (with_job) print("job\n" + m.job);
  uint64_t bytes = 0;
  for (const CheckpointFile& file : m.files) bytes += file.bytes;
  const auto tensors = checkpoint.tensors();
  std::string text = fmt::format("{}, {:.1f} MiB, {}\n", counted(std::ssize(m.files), "file"),
                                 static_cast<double>(bytes) / (1 << 20), counted(std::ssize(tensors), "tensor"));
  for (const auto& [name, shape] : tensors) text += fmt::format("  {:<48} {}\n", name, shape.text());
  print(text);
  if (!verify) return;
  verify_checkpoint(path, m);
  print("every checksum is right\n");
}

void print_directory(const fs::path& path, bool verify, bool with_job) {
  const bool lists = !verify && !with_job && checkpoints_at(path).empty();
  const std::string contents = lists ? describe_contents(path) : "";
  if (!contents.empty()) return print(contents);
  print_checkpoint(resolve_checkpoint(path, false), verify, with_job);
}

void print_tokenizer(const fs::path& path) {
  const auto tokenizer = Tokenizer::load(path);
  std::string text = fmt::format("tokenizer {}: {}, {} ids, hash {:016x}\n", path.string(), tokenizer->kind(),
                                 tokenizer->vocabulary(), tokenizer->hash());
  for (const SpecialToken& s : tokenizer->specials()) text += fmt::format("  {:8}  {}\n", s.id, s.name);
  print(text);
}

void print_verified(const fs::path& path) {
  const std::vector<std::string> findings = verify_dataset(path);
  if (!findings.empty())
    throw DataError(fmt::format("{}: {}", path.string(), fmt::join(findings, "\n  ")), "prepare it again");
  print("every checksum is right\n");
}

}  // namespace weft
