// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The source or destination of a datagram: IPv4, in network byte order.
struct DatagramAddress {
  uint32_t address = 0;
  uint16_t port = 0;
  auto operator<=>(const DatagramAddress&) const = default;
};
std::string describe(const DatagramAddress& address);  // "10.0.0.1:4711"

// A network that this machine is in.
struct Ipv4Network {
  uint32_t address = 0, mask = 0;  // this machine's address in it, in network byte order
  bool holds(uint32_t other) const { return (other & mask) == (address & mask); }
};
// The networks of interfaces that are up, without the loopback. `chosen` lists interfaces and networks by name
// ("eth0,10.0.0.0/8", as in Open MPI's btl_tcp_if_include); if it names any, only these are returned.
std::vector<Ipv4Network> ipv4_networks(std::string_view chosen = {});

// A UDP socket of one address that never blocks: a datagram that cannot be sent at once is lost, as any may be lost.
class Datagrams {
 public:
  static constexpr size_t kMost = 1400;  // bytes per datagram, so that none is fragmented
  // Binds a port that the system chooses; nullptr if that fails.
  static std::unique_ptr<Datagrams> at(uint32_t address);
  ~Datagrams();
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  const DatagramAddress& address() const { return address_; }
  void send(std::string_view bytes, const DatagramAddress& to);
  struct Received {
    std::string bytes;
    DatagramAddress from;
  };
  std::optional<Received> receive();  // nullopt: none has arrived; datagrams longer than kMost are skipped

 private:
  Datagrams(int descriptor, const DatagramAddress& address) : descriptor_(descriptor), address_(address) {}
  int descriptor_;
  DatagramAddress address_;
};

}  // namespace weft
