// SPDX-License-Identifier: Apache-2.0
// docs/simulated_device.md lists what is known and what is refused: this test checks the lists.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "simulator/machine/instructions/table.h"
#include "simulator/ptx/module.h"
#include "tests/support/source_dir.h"

namespace weft::cuda_device {
namespace {

const std::filesystem::path kPage = "docs/simulated_device.md";

std::string page() {
  std::ifstream in(test::source_dir() / kPage);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The text between two markers of the page.
struct Part {
  std::string text;
  size_t begin = 0, end = 0;
  Part(std::string page, const std::string& what) : text(std::move(page)) {
    const std::string first = "<!-- " + what + " begins -->\n";
    begin = text.find(first);
    if (begin == std::string::npos) throw std::runtime_error(what + ": the page has no such part");
    begin += first.size();
    end = text.find("<!-- " + what + " ends -->", begin);
    if (end == std::string::npos) throw std::runtime_error(what + ": the part does not end");
  }
  std::string inside() const { return text.substr(begin, end - begin); }
};

std::string error_of(const std::string& statement) {
  try {
    parse_module(
        "//\n.version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n.reg .pred %p<9>;\n" +
            statement + "\nret;\n}\n",
        [](const std::string&, std::span<const std::byte>, size_t) { return uint64_t{0x10000}; });
  } catch (const PtxError& error) {
    return error.what();
  }
  return {};
}

// With WEFT_UPDATE_DOCS in the environment the test writes the page instead.
TEST(Refused, ThePageNamesTheInstructionsThatAreKnown) {
  std::string names;
  for (const std::string_view name : known_instructions()) (names += "`") += std::string(name) + "`\n";
  const Part part(page(), "known instructions");
  if (std::getenv("WEFT_UPDATE_DOCS")) {
    std::string text = part.text;
    std::ofstream(test::source_dir() / kPage) << text.replace(part.begin, part.end - part.begin, names);
    return;
  }
  EXPECT_EQ(part.inside(), names) << "run cuda_machine_test --gtest_filter=Refused.* with WEFT_UPDATE_DOCS=1";
}

// Modifiers that change a result, types, functions, barriers and names: nothing passes silently.
TEST(Refused, EveryStatementOfThePage) {
  const std::string table = Part(page(), "refused statements").inside();
  const std::regex code("`([^`]*;)`");
  int tried = 0;
  for (auto at = std::sregex_iterator(table.begin(), table.end(), code); at != std::sregex_iterator(); ++at, ++tried) {
    const std::string statement = (*at)[1];
    const std::string said = error_of(statement);
    EXPECT_NE(said, "") << statement;
    EXPECT_NE(said.find(statement.substr(0, statement.find_first_of(" ;"))), std::string::npos) << said;
  }
  EXPECT_GE(tried, 40);
}

TEST(Refused, LabelsThatAreNowhere) { EXPECT_EQ(error_of("bra nowhere;"), "k: no label nowhere"); }

TEST(Refused, TheTemplateOfTheseIsKnown) { EXPECT_EQ(error_of("add.u32 %r1, %r2, %r3;"), ""); }

}  // namespace
}  // namespace weft::cuda_device
