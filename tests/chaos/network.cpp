// SPDX-License-Identifier: Apache-2.0
// A library that is preloaded into the ranks of a run (LD_PRELOAD) and makes their network slow and lossy:
//   WEFT_NETWORK_DELAY=MILLISECONDS   each message of Open MPI's TCP (writev) leaves so much later
//   WEFT_NETWORK_LOSES=N              of N datagrams one arrives
// tests/launch/hosts_test.sh drives it.
#include <sys/socket.h>
#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/chaos/preload.h"

namespace {

using namespace weft::test;

bool is_tcp(int descriptor) {
  int domain = 0, type = 0;
  socklen_t size = sizeof(int);
  return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_INET &&
         getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

}  // namespace

extern "C" {

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto next = real<ssize_t (*)(int, const iovec*, int)>("writev");
  static const int delay = atoi(text_of("WEFT_NETWORK_DELAY").c_str());
  if (delay > 0 && is_tcp(descriptor)) std::this_thread::sleep_for(std::chrono::milliseconds(delay));
  return next(descriptor, parts, count);
}

ssize_t sendto(int descriptor, const void* bytes, size_t size, int flags, const sockaddr* to, socklen_t to_size) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t, int, const sockaddr*, socklen_t)>("sendto");
  static const int loses = atoi(text_of("WEFT_NETWORK_LOSES").c_str());
  static std::atomic<int> sent{0};
  if (loses > 0 && !is_tcp(descriptor) && ++sent % loses != 0) return static_cast<ssize_t>(size);
  return next(descriptor, bytes, size, flags, to, to_size);
}

}  // extern "C"
