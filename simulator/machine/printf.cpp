// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/printf.h"

#include <cstdio>
#include <cstring>

#include "simulator/machine/warp.h"

namespace weft::cuda_device {
namespace {

// Unchecked: the compiler placed these bytes.
const std::byte* bytes_at(const Warp& w, int lane, uint64_t address, size_t bytes) {
  const Block& b = *w.block;
  if (address - kLocalWindow < kWindowBytes) {
    const size_t each = b.kernel().local_bytes, at = address - kLocalWindow;
    return at + bytes <= each ? b.local_bytes.data() + w.thread(lane) * each + at : nullptr;
  }
  const Allocation* a = b.memory->find(address);
  return a && !a->freed && address + bytes <= a->address + a->bytes ? b.memory->alias(*a, address) : nullptr;
}

template <class T>
T take(const Warp& w, int lane, uint64_t* at) {
  *at = (*at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
  T value{};
  if (const std::byte* from = bytes_at(w, lane, *at, sizeof(T))) std::memcpy(&value, from, sizeof(T));
  *at += sizeof(T);
  return value;
}

template <class T>
std::string formatted(const std::string& specification, T value) {
  char text[512];
  std::snprintf(text, sizeof text, specification.c_str(), value);
  return text;
}

std::string conversion(const Warp& w, int lane, const std::string& specification, uint64_t* at) {
  const char kind = specification.back();
  const bool is_long = specification.find('l') != std::string::npos || specification.find('z') != std::string::npos;
  if (kind == '%') return "%";
  if (kind == 's') return formatted(specification, text_at(w, lane, take<uint64_t>(w, lane, at)).c_str());
  if (kind == 'p') return formatted(specification, reinterpret_cast<void*>(take<uint64_t>(w, lane, at)));
  if (std::strchr("fFeEgGaA", kind)) return formatted(specification, take<double>(w, lane, at));
  return is_long ? formatted(specification, take<uint64_t>(w, lane, at))
                 : formatted(specification, take<uint32_t>(w, lane, at));
}

}  // namespace

std::string text_at(const Warp& w, int lane, uint64_t address) {
  std::string text;
  for (;; ++address) {
    const std::byte* c = bytes_at(w, lane, address, 1);
    if (!c || *c == std::byte{0}) return text;
    text += char(*c);
  }
}

void print_formatted(const Warp& w, int lane, uint64_t format, uint64_t arguments) {
  const std::string text = text_at(w, lane, format);
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '%') {
      out += text[k];
      continue;
    }
    const size_t end = std::min(text.find_first_of("diouxXcsfFeEgGaAp%", k + 1), text.size() - 1);
    out += conversion(w, lane, text.substr(k, end - k + 1), &arguments);
    k = end;
  }
  std::fputs(out.c_str(), stdout);
}

}  // namespace weft::cuda_device
