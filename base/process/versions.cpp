// SPDX-License-Identifier: Apache-2.0
#include "base/process/versions.h"

#include <H5public.h>
#include <dlfcn.h>
#include <yaml-cpp/yaml.h>

#include "base/error.h"
#include "base/files.h"
#include "base/mpi.h"

namespace weft {
namespace {

std::string hdf5_loaded() {
  unsigned major = 0, minor = 0, release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return "unknown";
  return fmt::format("{}.{}.{}", major, minor, release);
}

std::string mpi_compiled() {
#ifdef OMPI_MAJOR_VERSION
  return fmt::format("Open MPI {}.{}.{}", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
  return "MPICH " MPICH_VERSION;
#else
  return fmt::format("MPI {}.{}", MPI_VERSION, MPI_SUBVERSION);
#endif
}

// yaml-cpp has no call that returns its version, but the loader knows the file: libyaml-cpp.so.0.7.0. If the program
// itself contains yaml-cpp, it is the version that it was compiled with.
std::string yaml_loaded() {
  Dl_info info{};
  // The address of any symbol of the library.
  const auto* symbol = reinterpret_cast<const void*>(static_cast<YAML::Node (*)(const char*)>(&YAML::Load));
  if (dladdr(symbol, &info) == 0 || !info.dli_fname) return "unknown";
  std::error_code error;
  const std::string file = fs::canonical(info.dli_fname, error).filename();
  if (!file.starts_with("libyaml-cpp")) return WEFT_YAML_CPP_VERSION;
  const size_t at = file.find(".so.");
  return error || at == std::string::npos ? "unknown" : file.substr(at + 4);
}

}  // namespace

std::vector<LibraryVersion> library_versions() {
  return {{"HDF5", fmt::format("{}.{}.{}", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE), hdf5_loaded()},
          {"MPI", mpi_compiled(), mpi_library_version()},
          {"yaml-cpp", WEFT_YAML_CPP_VERSION, yaml_loaded()}};
}

}  // namespace weft
