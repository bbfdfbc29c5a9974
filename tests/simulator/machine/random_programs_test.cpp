// SPDX-License-Identifier: Apache-2.0
// Random programs with values that live long and short, guards, branches that lanes take differently, and loops that
// lanes leave at different times: the machine's results are those of running each thread by itself.
#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

constexpr uint32_t kRegisters = 60, kSteps = 250;

// d = a op b, if the guard holds: (lane value of `guard`) >> `bit` & 1, or always.
struct Step {
  enum Kind { kAdd, kXor, kMad, kSkip, kLoop } kind = kAdd;
  uint32_t d = 0, a = 0, b = 0, guard = 0, bit = 0, length = 0;  // kSkip, kLoop: the number of steps inside
  bool guarded = false;
};

std::vector<Step> draw(std::mt19937_64& random) {
  std::vector<Step> steps;
  const auto below = [&](size_t n) { return uint32_t(random() % n); };
  for (uint32_t k = 0; k < kSteps; ++k) {
    Step s{Step::Kind(below(3)), below(kRegisters), below(kRegisters), below(kRegisters), below(kRegisters), below(8)};
    s.guarded = below(5) == 0;
    if (below(8) == 0) {
      s.kind = below(2) ? Step::kSkip : Step::kLoop;
      s.length = std::min(1 + below(12), kSteps - k - 1);
    }
    steps.push_back(s);
  }
  return steps;
}

// A loop runs once more while the last two bits of its counter, which starts with those of a register, are not zero.
std::string text_of(const std::vector<Step>& steps) {
  std::string text;
  std::multimap<uint32_t, std::string> after;  // by step: the text after it, inner parts first
  for (uint32_t k = 0; k < steps.size(); ++k) {
    const Step& s = steps[k];
    const auto r = [](uint32_t n) { return "%v" + std::to_string(n); };
    const std::string n = std::to_string(k), guard = "and.b32 %g, " + r(s.guard) + ", " + std::to_string(1u << s.bit) +
                                                     "; setp.ne.u32 %q, %g, 0; ";
    const std::string at = s.guarded ? guard + "@%q " : "";
    if (s.kind == Step::kAdd) text += at + "add.u32 " + r(s.d) + ", " + r(s.a) + ", " + r(s.b) + ";\n";
    if (s.kind == Step::kXor) text += at + "xor.b32 " + r(s.d) + ", " + r(s.a) + ", " + r(s.b) + ";\n";
    if (s.kind == Step::kMad)
      text += at + "mad.lo.u32 " + r(s.d) + ", " + r(s.a) + ", " + r(s.b) + ", " + r(s.d) + ";\n";
    if (s.kind == Step::kSkip) {
      text += guard + "@%q bra SKIP" + n + ";\n";
      after.emplace(k + s.length, "SKIP" + n + ":\n");
    }
    if (s.kind == Step::kLoop) {
      text += ".reg .b32 %c" + n + "; and.b32 %c" + n + ", " + r(s.guard) + ", 3;\nLOOP" + n + ":\n";
      after.emplace(k + s.length,
                    "setp.ne.u32 %q, %c" + n + ", 0; sub.u32 %c" + n + ", %c" + n + ", 1; @%q bra LOOP" + n + ";\n");
    }
    const auto [first, last] = after.equal_range(k);
    std::vector<std::string> endings;
    for (auto it = first; it != last; ++it) endings.push_back(it->second);
    for (auto it = endings.rbegin(); it != endings.rend(); ++it) text += *it;
  }
  return text;
}

// Runs steps [first, end) for one thread.
void run(const std::vector<Step>& steps, uint32_t first, uint32_t end, std::vector<uint32_t>& v) {
  for (uint32_t k = first; k < end; ++k) {
    const Step& s = steps[k];
    const bool bit = v[s.guard] >> s.bit & 1;
    if (s.kind == Step::kSkip && bit) k += s.length;
    if (s.kind == Step::kLoop) {
      for (uint32_t counter = v[s.guard] & 3;; --counter) {
        run(steps, k + 1, k + 1 + s.length, v);
        if (counter == 0) break;
      }
      k += s.length;
    }
    if (s.kind > Step::kMad || (s.guarded && !bit)) continue;
    v[s.d] = s.kind == Step::kAdd ? v[s.a] + v[s.b] : s.kind == Step::kXor ? v[s.a] ^ v[s.b] : v[s.a] * v[s.b] + v[s.d];
  }
}

// Skipped parts and loops must be nested for the text to do what `run` does: steps that are not nested are dropped.
void make_nested(std::vector<Step>& steps) {
  std::vector<uint32_t> ends;
  for (uint32_t k = 0; k < steps.size(); ++k) {
    while (!ends.empty() && ends.back() < k) ends.pop_back();
    if (steps[k].kind < Step::kSkip) continue;
    if (ends.empty() || k + steps[k].length <= ends.back())
      ends.push_back(k + steps[k].length);
    else
      steps[k].kind = Step::kAdd;
  }
}

TEST(RandomPrograms, DoWhatEachThreadWould) {
  std::mt19937_64 random(11);
  for (int program = 0; program < 25; ++program) {
    std::vector<Step> steps = draw(random);
    make_nested(steps);
    std::string body = ".reg .b32 %v<" + std::to_string(kRegisters) +
                       ">, %g;\n.reg .pred %q;\nmad.wide.u32 %rd8, %t, " + std::to_string(4 * kRegisters) + ", %rd0;\n";
    for (uint32_t r = 0; r < kRegisters; ++r)
      body += "mad.lo.u32 %v" + std::to_string(r) + ", %t, " + std::to_string(2654435761u + 7 * r) + ", " +
              std::to_string(r * r) + ";\n";
    body += text_of(steps);
    for (uint32_t r = 0; r < kRegisters; ++r)
      body += "st.global.u32 [%rd8+" + std::to_string(4 * r) + "], %v" + std::to_string(r) + ";\n";
    TestDevice device;
    const uint64_t out = device.allocate(4 * kRegisters * 64);
    device.run_body(body, 1, {out}, {1}, {64});
    ASSERT_EQ(device.findings(), "");
    const auto got = device.get<uint32_t>(out, kRegisters * 64);
    for (uint32_t t = 0; t < 64; ++t) {
      std::vector<uint32_t> v(kRegisters);
      for (uint32_t r = 0; r < kRegisters; ++r) v[r] = t * (2654435761u + 7 * r) + r * r;
      run(steps, 0, kSteps, v);
      for (uint32_t r = 0; r < kRegisters; ++r)
        ASSERT_EQ(got[t * kRegisters + r], v[r]) << "program " << program << " thread " << t << " register " << r;
    }
  }
}

// A thousand values, each needed only by the next one, and one value that lives through them all.
TEST(RegisterPlaces, AreShared) {
  std::string text = kPtxHead +
                     ".entry k(.param .u64 p) {\n.reg .b32 %r<1002>;\n.reg .b64 %rd1;\nld.param.u64 %rd1, "
                     "[p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1001, 5;\n";
  for (int k = 0; k < 1000; ++k) text += "add.u32 %r" + std::to_string(k + 1) + ", %r" + std::to_string(k) + ", 1;\n";
  text += "add.u32 %r1000, %r1000, %r1001;\nst.global.u32 [%rd1], %r1000;\nret;\n}\n";
  const auto place = [](const std::string&, std::span<const std::byte>, size_t) { return uint64_t{0}; };
  EXPECT_LT(parse_module(text, place).kernels.at("k")->register_bytes, place_of(Special::Count) + 10 * 128);
  TestDevice device;
  const uint64_t out = device.allocate(4);
  device.run(text, "k", {1}, {1}, {out});
  EXPECT_EQ(device.get<uint32_t>(out, 1)[0], 1005u);
}

}  // namespace
}  // namespace weft::cuda_device
