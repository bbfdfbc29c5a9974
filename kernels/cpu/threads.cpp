// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/threads.h"

#ifdef _OPENMP
#include <omp.h>
#else
#include <dlfcn.h>
#endif

namespace weft::cpu {

#ifdef _OPENMP
void set_thread_count(int threads) { omp_set_num_threads(threads); }
#else
// Without OpenMP, weft's own loops run on the calling thread alone. The vendor library still brings its own OpenMP
// runtime, which this function limits to the calling thread too.
void set_thread_count(int) {
  using Setter = void (*)(int);
  static const auto set = reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set) set(1);
}
#endif

}  // namespace weft::cpu
