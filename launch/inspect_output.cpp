// SPDX-License-Identifier: Apache-2.0
#include "launch/inspect_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/reader.h"
#include "data/dataset/inspect.h"
#include "data/dataset/manifest.h"
#include "data/tokenizer/tokenizer.h"
#include "trainer/run/provenance.h"

namespace weft {

void print_checkpoint(const fs::path& path, bool verify, bool with_job) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  const CheckpointManifest& m = checkpoint.manifest();
  std::printf("checkpoint %s: step %ld\nstate %s\nfingerprint %s\n", path.c_str(), static_cast<long>(m.step),
              m.state.dump().c_str(), m.fingerprint.dump().c_str());
  std::printf("%s", describe_provenance(m.provenance).c_str());
  if (with_job) std::printf("job\n%s", m.job.c_str());
  uint64_t bytes = 0;
  for (const CheckpointFile& file : m.files) bytes += file.bytes;
  std::printf("%zu files, %.1f MiB, %zu tensors\n", m.files.size(), static_cast<double>(bytes) / (1 << 20),
              checkpoint.tensors().size());
  for (const auto& [name, shape] : checkpoint.tensors()) {
    std::printf("  %-48s %s\n", name.c_str(), shape.text().c_str());
  }
  if (!verify) return;
  verify_checkpoint(path, m);
  std::printf("every checksum is right\n");
}

void print_tokenizer(const fs::path& path) {
  const auto tokenizer = Tokenizer::load(path);
  std::printf("tokenizer %s: %s, %ld ids, hash %016lx\n", path.c_str(), tokenizer->kind().c_str(),
              static_cast<long>(tokenizer->vocabulary()), static_cast<unsigned long>(tokenizer->hash()));
  for (const SpecialToken& s : tokenizer->specials()) std::printf("  %8d  %s\n", s.id, s.name.c_str());
}

void print_verified(const fs::path& path) {
  const std::vector<std::string> findings = verify_dataset(path);
  if (!findings.empty())
    throw DataError(fmt::format("{}: {}", path.string(), fmt::join(findings, "\n  ")), "prepare it again");
  std::printf("every checksum is right\n");
}

}  // namespace weft
