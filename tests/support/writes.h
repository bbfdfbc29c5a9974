// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace weft::test {

// Two ends of a connection that keeps every write(2) as a separate packet.
class Packets {
 public:
  Packets() {
    int ends[2] = {-1, -1};
    require<DataError>(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "no socket of packets here");
    in_ = ends[0], out_ = ends[1];
  }
  ~Packets() {
    if (in_ >= 0) close(in_);
    close(out_);
  }
  Packets(const Packets&) = delete;
  Packets& operator=(const Packets&) = delete;

  int in() const { return in_; }

  // Returns every packet until no process has in() open any more. The caller's own end is closed first.
  std::vector<std::string> read() {
    close(std::exchange(in_, -1));
    std::vector<std::string> packets;
    std::string packet(1 << 20, '\0');
    for (ssize_t size; (size = recv(out_, packet.data(), packet.size(), 0)) > 0;) {
      packets.push_back(packet.substr(0, static_cast<size_t>(size)));
    }
    return packets;
  }

 private:
  int in_ = -1, out_ = -1;
};

// The texts that `body` writes to `file` (STDERR_FILENO), one for each write(2).
template <class F>
std::vector<std::string> writes_to(int file, F&& body) {
  Packets packets;
  const int kept = dup(file);
  dup2(packets.in(), file);
  body();
  dup2(kept, file);
  close(kept);
  return packets.read();
}

}  // namespace weft::test
