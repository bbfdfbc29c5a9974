// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/cublaslt/refusals.h"

#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>

#include "simulator/ptx/draw.h"

namespace weft::cuda_device {
namespace {

// "all": every product; "epilogues": every epilogue; a number: those that it draws.
struct Setting {
  bool all = false, epilogues = false;
  uint64_t number = 0;
  bool any() const { return all || epilogues || number != 0; }
};

// Read at each call, so that a test can change it.
Setting setting() {
  const char* text = std::getenv("WEFT_CUDA_DEVICE_REFUSALS");
  if (!text) return {};
  const std::string asked = text;
  if (asked == "all" || asked == "epilogues") return {.all = asked == "all", .epilogues = asked == "epilogues"};
  char* end = nullptr;
  const uint64_t number = std::strtoull(text, &end, 10);
  if (end == text || *end)
    refuse("WEFT_CUDA_DEVICE_REFUSALS is '" + asked + "', and a whole number, 'all' or 'epilogues' is needed");
  return {.number = number};
}

uint64_t draw(std::initializer_list<uint64_t> words) {
  uint64_t state = 0;
  for (const uint64_t word : words) state = mixed(state, word);
  return state;
}

// One in `of`, by the setting's number, the question, and what else is asked about it.
bool drawn(const Setting& s, const Product& p, uint64_t about, uint64_t of) {
  const auto word = [](auto value) { return static_cast<uint64_t>(value); };
  return s.number != 0 && draw({s.number, p.m(), p.n(), p.k(), word(p.a.type), word(p.d.type), word(p.how.transpose_a),
                                word(p.how.transpose_b), about}) %
                                  of ==
                              0;
}

enum About : uint64_t { kAny = 1, kSilent = 2, kEpilogue = 1000, kAlgorithm = 2000 };

}  // namespace

cublasStatus_t refusal(const Product& p) {
  const Setting s = setting();
  if (!s.any()) return CUBLAS_STATUS_SUCCESS;
  if (s.number != 0 && (p.m() == 1 || p.n() == 1 || p.k() == 1)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool has_epilogue = p.how.epilogue != CUBLASLT_EPILOGUE_DEFAULT;
  const bool refused =
      s.all || drawn(s, p, kAny, 5) || (has_epilogue && (s.epilogues || drawn(s, p, kEpilogue + p.how.epilogue, 3)));
  return refused ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

bool refuses(const Product& p, int32_t algorithm) {
  return drawn(setting(), p, kAlgorithm + static_cast<uint64_t>(algorithm), 4);
}

bool refuses_silently(const Product& p) { return drawn(setting(), p, kSilent, 2); }

}  // namespace weft::cuda_device
