// SPDX-License-Identifier: Apache-2.0
// Programs that nvcc built against CUDA's own runtime run unchanged with the simulated libraries first on the path: a
// correct program gives correct numbers and no report for several seeds, and each mistake ends with a report of its
// kind that names the line marked with it in the source.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string output;
};
Outcome shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  for (int c; (c = std::fgetc(pipe)) != EOF;) outcome.output += static_cast<char>(c);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return outcome;
}

Outcome run(const std::string& program, const std::string& which, const std::string& settings = "") {
  return shell("LD_LIBRARY_PATH=" WEFT_SIMULATED_LIBRARIES " " + settings + " " WEFT_PROGRAMS "/" + program + " " +
               which);
}

// {"streams.cu:23", ...}: the lines of a program's source marked HERE with this name. The seed's order decides which
// of two accesses comes second and is reported.
std::vector<std::string> marked(const std::string& program, const std::string& name) {
  std::ifstream source(test::source_dir() / "tests/simulator/programs" / (program + ".cu"));
  std::vector<std::string> places;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number)
    if (line.find("HERE " + name) != std::string::npos)
      places.push_back(" " + program + ".cu:" + std::to_string(number) + ":");
  return places;
}

class Program : public testing::TestWithParam<const char*> {};
TEST_P(Program, IsRightForEverySeed) {
  for (const char* seed : {"1", "2", "3"}) {
    const Outcome outcome = run(GetParam(), "right", std::string("WEFT_CUDA_DEVICE_SEED=") + seed);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(outcome.output, "");
  }
}
INSTANTIATE_TEST_SUITE_P(All, Program, testing::Values("counted", "streams", "reductions", "tensor_cores"),
                         [](const auto& info) { return std::string(info.param); });

struct Mistake {
  const char *program, *name;
  std::vector<std::string> kinds;  // one of these kinds, depending on the seed's order
};
std::ostream& operator<<(std::ostream& to, const Mistake& mistake) { return to << mistake.name; }

class MistakeOf : public testing::TestWithParam<Mistake> {};
TEST_P(MistakeOf, IsReportedInItsPlaceForEverySeed) {
  const auto& [program, name, kinds] = GetParam();
  const std::vector<std::string> places = marked(program, name);
  ASSERT_FALSE(places.empty());
  const auto any_of = [](const std::vector<std::string>& texts, const std::string& output) {
    return std::any_of(texts.begin(), texts.end(), [&](const auto& text) { return output.find(text) != output.npos; });
  };
  for (const char* seed : {"1", "2", "3"}) {
    const Outcome outcome = run(program, name, std::string("WEFT_CUDA_DEVICE_SEED=") + seed);
    EXPECT_EQ(outcome.status, 86) << outcome.output;
    EXPECT_TRUE(any_of(kinds, outcome.output) && any_of(places, outcome.output)) << outcome.output;
  }
}
TEST(Report, NamesTheKernelAsTheSourceDoes) {
  EXPECT_THAT(run("reductions", "missing-barrier").output, HasSubstr(": chunk_sums<false> block ("));
}

const Mistake kMistakes[] = {{"streams", "missing-event", {"race: "}},
                             {"streams", "use-after-free", {"use after free: "}},
                             {"streams", "past-the-end", {"out of bounds: "}},
                             {"reductions", "missing-barrier", {"race: ", "uninitialised: "}},
                             {"tensor_cores", "missing-wait", {"cp.async: ", "race: "}}};
INSTANTIATE_TEST_SUITE_P(All, MistakeOf, testing::ValuesIn(kMistakes), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// An access of the host has no line in device code: the report names its bytes.
TEST(HostMistake, ATouchOfDeviceMemoryIsReported) {
  const Outcome outcome = run("streams", "host-access");
  EXPECT_EQ(outcome.status, 86);
  EXPECT_THAT(outcome.output, HasSubstr("host access: the host dereferenced device memory: byte 12 of allocation"));
}
TEST(HostMistake, AWriteToPinnedMemoryInFlightIsReported) {
  const Outcome outcome = run("streams", "pinned-too-early");
  EXPECT_EQ(outcome.status, 86);
  EXPECT_THAT(outcome.output, HasSubstr("host access: the host writes byte 12 of the pinned memory that cudaMemcpy"));
}

// The program is refused, with the option to change, when its first kernel is used.
TEST(Build, CompressedPtxIsRefused) {
  const Outcome outcome = run("compressed", "right");
  EXPECT_EQ(outcome.status, 86);
  EXPECT_THAT(outcome.output, HasSubstr("the PTX in the fat binary is compressed: compile with nvcc -no-compress"));
}
TEST(Build, MachineCodeAloneIsRefused) {
  const Outcome outcome = run("machine_code", "right");
  EXPECT_EQ(outcome.status, 86);
  EXPECT_THAT(outcome.output, HasSubstr("only machine code of sm_90: compile with -gencode arch=compute_80"));
}

// The libraries have the names under which weft loads CUDA's, and are found first if their folder is on the path.
TEST(ShippedBinary, FindsTheSimulatedLibrariesUnderTheNamesItAsksFor) {
  const std::regex name("\\[(lib(cuda|cudart|cublasLt|nccl)\\.so\\.\\d+)\\]");
  const auto names_in = [&](const std::string& file, const char* what) {
    std::set<std::string> names;
    const std::string text = shell("readelf -d " + file + " | grep " + what).output;
    for (std::sregex_iterator at(text.begin(), text.end(), name); at != std::sregex_iterator(); ++at)
      names.insert((*at)[1]);
    return names;
  };
  const std::set<std::string> needed = names_in(WEFT_PROGRAM, "NEEDED");
  EXPECT_THAT(needed, testing::Contains("libcudart.so." WEFT_CUDA_MAJOR));
  const std::string found = shell("LD_LIBRARY_PATH=" WEFT_SIMULATED_LIBRARIES " ldd " WEFT_PROGRAM).output;
  for (const std::string& library : needed) {
    EXPECT_THAT(found, HasSubstr(fmt::format("{} => " WEFT_SIMULATED_LIBRARIES "/{}", library, library)));
  }
  for (const char* library : {"libcudart.so." WEFT_CUDA_MAJOR, "libcublasLt.so." WEFT_CUDA_MAJOR, "libcuda.so.1"})
    EXPECT_THAT(names_in(std::string(WEFT_SIMULATED_LIBRARIES "/") + library, "SONAME"), testing::ElementsAre(library));
}

// The results of operations, a line for each name, are the same for every seed unless the order of blocks decides
// them.
TEST(Results, AreTheSameForEverySeedWhereNothingDependsOnTheOrder) {
  const test::Scratch scratch;
  const auto results = [&](const std::string& program, const std::string& which, int seed) {
    const fs::path file = scratch / (which + std::to_string(seed));
    const std::string settings = "WEFT_CUDA_DEVICE_RESULTS=" + file.string();
    EXPECT_EQ(run(program, which, settings + " WEFT_CUDA_DEVICE_SEED=" + std::to_string(seed)).status, 0);
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  const std::string first = results("reductions", "right", 1);
  EXPECT_THAT(first, HasSubstr("/reductions right \tlaunch of chunk_sums<true>\t"));
  for (const int seed : {2, 3}) EXPECT_EQ(results("reductions", "right", seed), first);
  std::set<std::string> found;
  for (const int seed : {1, 2, 3}) found.insert(results("reductions", "atomics", seed));
  EXPECT_GT(found.size(), 1u);
}

TEST(Injected, ALaunchThatFailsIsTheProgramsToHandle) {
  const Outcome outcome = run("streams", "right", "WEFT_CUDA_DEVICE_FAIL_LAUNCH=1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("wrong: the sum over two streams"));  // the program does not check its sum
}
TEST(Injected, AKernelThatFailsIsNoticedByTheNextWaitAndStays) {
  const Outcome outcome = run("streams", "right", "WEFT_CUDA_DEVICE_FAIL_KERNEL=2");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("cudaErrorLaunchFailure: unspecified launch failure"));
}
TEST(Injected, AnAllocationThatFailsIsOutOfMemory) {
  const Outcome outcome = run("streams", "right", "WEFT_CUDA_DEVICE_FAIL_ALLOCATION=3");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("cudaErrorMemoryAllocation: out of memory"));
}

}  // namespace
}  // namespace weft
