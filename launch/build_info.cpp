#include "launch/build_info.h"

#include <H5public.h>
#include <fmt/format.h>

#include "base/mpi.h"
#include "kernels/context.h"
#include "launch/revision.h"

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

}  // namespace

std::vector<InfoRow> build_rows() {
  return {
      {"weft", weft_version()},
      {"git revision", git_revision()},
      {"compiler", WEFT_COMPILER},
      {"CUDA, NCCL, cuDNN", "not in this version: it computes on the CPU"},
      {"OpenMP", WEFT_HAS_OPENMP ? "yes" : "built without it (one thread a rank for what is not a matrix product)"},
      {"matrix products", matmul_library()},
      {"bf16 products", emulates_bf16() ? "emulated by rounding: right, but slow" : "native"},
      {"MPI", mpi_library_version()},
      {"HDF5", hdf5_version()},
  };
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
