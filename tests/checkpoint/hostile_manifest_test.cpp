// SPDX-License-Identifier: Apache-2.0
// Manifests that are made to crash the program that reads them.
#include <gmock/gmock.h>

#include "base/hash.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/deep_json.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;

std::string manifest_with(const std::string& body) {
  return fmt::format(R"({{"weft_checkpoint":{},"hash":"{}"}})", body, hash_hex(hash64(body)));
}

// The deep value is the whole manifest, or a member of a sound manifest with the right checksum.
TEST_F(Checkpoints, NoDepthOfAManifestOverflowsTheStack) {
  const fs::path good = save(directory_, {1, 1}, 1, 1, {}, false, 7);
  const fs::path bad = directory_ / "step-00000002", manifest = manifest_path(bad);
  fs::copy(good, bad);
  for (const std::string& deep : deepest_values()) {
    for (const std::string& body : {deep, R"({"version":2,"step":2,"state":)" + deep + "}"}) {
      write_file_atomically(manifest, manifest_with(body));
      EXPECT_THAT(error_of([&] { Checkpoint::open(bad); }),
                  AllOf(HasSubstr(manifest.string()), HasSubstr("more than 64 lists and objects within each other")));
      EXPECT_EQ(list_checkpoints(directory_), (std::vector<fs::path>{good, bad}));  // opening finds the depth
      EXPECT_EQ(next_sequence(directory_), 8);
    }
  }
}

TEST_F(Checkpoints, NoDepthOfAnIndexOverflowsTheStack) {
  for (const std::string& deep : deepest_values()) {
    for (const char* text : {"{}", R"({{"block_bytes":{}}})", R"({{"block_bytes":8,"tensors":[{}],"arrays":[]}})"}) {
      EXPECT_THAT(error_of([&] { parse_index(fmt::format(fmt::runtime(text), deep), 1000); }),
                  HasSubstr("within each other"));
    }
  }
}

TEST_F(Checkpoints, ADigestThatIsNoneIsRefused) {
  const fs::path path = save(directory_, {1, 1}, 1, 1);
  const std::string sound = read_manifest_text(path);
  const auto body = nlohmann::ordered_json::parse(sound)["weft_checkpoint"];
  for (const char* value :
       {"7", "[]", "{}", "true", R"("")", R"("0123456789abcde")", R"("0123456789abcdef0")", R"("0123456789ABCDEF")"}) {
    for (const char* member : {"digest", "save_before"}) {
      auto changed = body;
      const auto digest = nlohmann::ordered_json::parse(value);
      changed[member] =
          std::string_view(member) == "digest" ? digest : nlohmann::ordered_json{{"step", 1}, {"digest", digest}};
      write_file_atomically(manifest_path(path), manifest_with(changed.dump()));
      EXPECT_THAT(error_of([&] { Checkpoint::open(path); }), HasSubstr(manifest_path(path).string())) << value;
      EXPECT_THROW(Checkpoint::open(path), DataError) << value;
    }
  }
  auto changed = body;
  changed["save_before"] = {{"digest", "0123456789abcdef"}};
  write_file_atomically(manifest_path(path), manifest_with(changed.dump()));
  EXPECT_THROW(Checkpoint::open(path), DataError);
}

}  // namespace
}  // namespace weft
