// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace weft::test {

// A system call that fails as on a file system that lacks it.
struct RefusedCall {
  uint32_t call = 0;   // __NR_...
  uint32_t error = 0;  // errno
  uint32_t flags = 0;  // fails only if its third argument, that of openat's flags, has one of these bits; 0: always
};

// Makes the call fail in this process and in the threads that it starts from now on. There is no way back: call it in a
// child (in_child).
inline bool refuse(const RefusedCall& refused) {
  constexpr uint32_t kThird = offsetof(seccomp_data, args) + 2 * sizeof(uint64_t);  // its low half
  sock_filter lines[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused.call, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kThird),
      BPF_JUMP(BPF_JMP | (refused.flags ? BPF_JSET : BPF_JGE) | BPF_K, refused.flags, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refused.error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(lines), .filter = lines};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace weft::test
