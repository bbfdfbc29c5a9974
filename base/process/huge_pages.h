// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace weft {

inline constexpr size_t kHugePage = size_t{2} << 20;

// Asks the system to lay the whole huge pages of a range on such pages, as it can where transparent_hugepage is
// `madvise` or `always`: passes over large memory miss fewer address translations, and a fault brings in 2 MiB. Advice:
// nothing changes where the system cannot.
inline void advise_huge_pages(void* memory, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage,
                  end = (begin + bytes) / kHugePage * kHugePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace weft
