// SPDX-License-Identifier: Apache-2.0
#include "launch/build_info.h"

#include <H5public.h>
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/mpi.h"
#include "data/parquet/parquet_file.h"
#include "data/text/byte_stream.h"
#include "data/tokenizer/config.h"
#include "kernels/context.h"
#include "kernels/device/cpu_level.h"
#include "kernels/device/devices.h"
#include "kernels/device/ids.h"
#include "launch/revision.h"
#include "parallel/nccl/communicator.h"

namespace weft {
namespace {

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  hbool_t thread_safe = false;
  H5get_libversion(&major, &minor, &release);
  H5is_library_threadsafe(&thread_safe);
#ifdef H5_HAVE_PARALLEL
  const char* parallel = "parallel";
#else
  const char* parallel = "serial";
#endif
  return fmt::format("{}.{}.{}, {}, {}", major, minor, release, parallel,
                     thread_safe ? "thread-safe" : "not thread-safe");
}

// The CUDA support of this build and the devices that this process sees: "CUDA 13.0, code for 80-real 90-real
// 80-virtual; driver for CUDA 13.1; 0: NVIDIA H100 80GB HBM3, sm_90".
std::string cuda_text() {
  const CudaDevices found = cuda_devices();
  if (!found.built) return "built without it: weft computes on the CPU";
  std::string text = fmt::format("{}, code for {}; {}", found.runtime, found.code, found.driver);
  if (found.names.empty()) return fmt::format("{}; no device: {}", text, found.why_none);
  for (size_t i = 0; i < found.names.size(); ++i) text += fmt::format("; {}: {}", i, found.names[i]);
  return text;
}

}  // namespace

nlohmann::ordered_json program_origin() {
  return {{"version", weft_version()}, {"revision", git_revision()}, {"host", host_name()}};
}

std::vector<InfoRow> build_rows() {
  return {
      {"weft", weft_version()},
      {"git revision", git_revision()},
      {"compiler", WEFT_COMPILER},
      {"CUDA", cuda_text()},
      {"cuDNN", cudnn_text()},
      {"NCCL", describe_nccl()},
      {"SentencePiece", has_sentencepiece() ? "yes" : "built without it: tokenizer.kind sentencepiece is refused"},
      {"zstd", has_zstd() ? "yes" : "built without it: zstd-compressed text is refused"},
      {"Parquet", describe_parquet()},
      {"OpenMP", WEFT_HAS_OPENMP ? "yes" : "built without it (one thread per rank outside matrix products)"},
      {"processor level", fmt::format("{} ({})", enum_name(processor_level()), cpu_code_text())},
      {"matrix products", matmul_library()},
      {"bf16 products", emulates_bf16() ? "emulated by rounding: correct, but slow" : "native"},
      {"MPI", mpi_library_version()},
      {"HDF5", hdf5_version()},
  };
}

std::vector<InfoRow> device_link_rows() {
  const size_t devices = cuda_devices().names.size();
  if (devices < 2) return {};
  const std::vector<std::pair<int, int>> links = cuda_links();
  const char* others = "through host memory, which is slower";
  if (links.empty()) return {{"links between devices", others}};
  if (2 * links.size() == devices * (devices - 1)) return {{"links between devices", "all directly (NVLink or PCIe)"}};
  std::string pairs;
  for (const auto& [a, b] : links) pairs += fmt::format("{}{}-{}", pairs.empty() ? "" : ", ", a, b);
  return {{"links between devices", fmt::format("{} directly (NVLink or PCIe); others {}", pairs, others)}};
}

std::string format_rows(const std::vector<InfoRow>& rows) {
  std::string text;
  for (const auto& [what, value] : rows) text += fmt::format("{:<22} {}\n", what, value);
  return text;
}

const char* weft_version() { return WEFT_VERSION; }

std::string version_text() {
  std::vector<InfoRow> rows = build_rows();
  rows.erase(rows.begin());
  const std::string text = format_rows(rows);
  return fmt::format("weft {}\n{}", weft_version(), text.substr(0, text.size() - 1));
}

}  // namespace weft
