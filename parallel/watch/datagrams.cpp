// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/datagrams.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace weft {
namespace {

sockaddr_in to_socket(const DatagramAddress& address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = address.port;
  to.sin_addr.s_addr = address.address;
  return to;
}

DatagramAddress from_socket(const sockaddr_in& from) { return {from.sin_addr.s_addr, from.sin_port}; }

std::string text_of(uint32_t address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const in_addr in{address};
  return inet_ntop(AF_INET, &in, text.data(), text.size()) ? text.data() : "?";
}

uint32_t address_of(const sockaddr* from) {
  sockaddr_in in{};
  std::memcpy(&in, from, sizeof in);
  return in.sin_addr.s_addr;
}

// True if an address is in the network "10.0.0.0/8"; false if the text is not a network.
bool in_network(const std::string& network, uint32_t address) {
  const size_t slash = network.find('/');
  if (slash == std::string::npos) return false;
  in_addr base{};
  int bits = -1;
  std::from_chars(network.data() + slash + 1, network.data() + network.size(), bits);
  if (inet_pton(AF_INET, network.substr(0, slash).c_str(), &base) != 1 || bits < 0 || bits > 32) return false;
  const uint32_t mask = bits == 0 ? 0 : htonl(~uint32_t{0} << (32 - bits));
  return (address & mask) == (base.s_addr & mask);
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) words.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return words;
}

}  // namespace

std::string describe(const DatagramAddress& address) {
  return fmt::format("{}:{}", text_of(address.address), ntohs(address.port));
}

std::vector<Ipv4Network> ipv4_networks(std::string_view chosen) {
  const std::vector<std::string> choice = words_of(chosen);
  std::vector<Ipv4Network> networks;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return networks;
  for (const ifaddrs* i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || !i->ifa_netmask || i->ifa_addr->sa_family != AF_INET) continue;
    if ((i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const Ipv4Network network{address_of(i->ifa_addr), address_of(i->ifa_netmask)};
    const bool wanted = choice.empty() || std::ranges::any_of(choice, [&](const std::string& word) {
                          return word == i->ifa_name || in_network(word, network.address);
                        });
    if (wanted) networks.push_back(network);
  }
  freeifaddrs(all);
  return networks;
}

std::unique_ptr<Datagrams> Datagrams::at(uint32_t address) {
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return nullptr;
  sockaddr_in name = to_socket({.address = address});
  socklen_t length = sizeof name;
  auto* generic = reinterpret_cast<sockaddr*>(&name);
  if (bind(descriptor, generic, sizeof name) != 0 || getsockname(descriptor, generic, &length) != 0) {
    close(descriptor);
    return nullptr;
  }
  return std::unique_ptr<Datagrams>(new Datagrams(descriptor, from_socket(name)));
}

Datagrams::~Datagrams() { close(descriptor_); }

void Datagrams::send(std::string_view bytes, const DatagramAddress& to) {
  const sockaddr_in name = to_socket(to);
  [[maybe_unused]] const ssize_t sent = sendto(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                               reinterpret_cast<const sockaddr*>(&name), sizeof name);
}

std::optional<Datagrams::Received> Datagrams::receive() {
  std::array<char, kMost + 1> buffer;
  for (;;) {
    sockaddr_in name{};
    socklen_t length = sizeof name;
    const ssize_t bytes =
        recvfrom(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&name), &length);
    if (bytes < 0) return std::nullopt;
    if (static_cast<size_t>(bytes) > kMost) continue;
    return Received{.bytes = std::string(buffer.data(), static_cast<size_t>(bytes)), .from = from_socket(name)};
  }
}

}  // namespace weft
