// SPDX-License-Identifier: Apache-2.0
#include "pages/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pages/assets.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Page, NeedsNothingFromOutside) {
  const std::string page = page_html(PageKind::Report, "");
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("sourceMappingURL")));
  for (const char* loads : {"<link", "<img", "<iframe", " src=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(loads)));
}

TEST(Page, PassesOnTheLicenceOfItsCurves) {
  const std::string page = page_html(PageKind::Report, "");
  EXPECT_THAT(page, HasSubstr("Apache License 2.0"));
  const char* theirs = has_dygraphs() ? "Dan Vanderkam &lt;danvdk@gmail.com&gt;" : "";
  EXPECT_THAT(page, HasSubstr(theirs));
}

TEST(Page, ReplacesItsOwnKindAlone) {
  const Scratch scratch;
  const fs::path file = scratch / "report.html";
  write_page(file, page_html(PageKind::Report, "first"));
  write_page(file, page_html(PageKind::Report, "second"));
  EXPECT_THAT(read_file(file), HasSubstr("second"));
  const fs::path theirs = scratch.write("theirs.html", "<!DOCTYPE html>\n<p>mine");
  EXPECT_THAT(error_of<DataError>([&] { write_page(theirs, page_html(PageKind::Report, "")); }),
              HasSubstr("is there already, and is no page that weft wrote [remove it, or write to another name]"));
  EXPECT_EQ(read_file(theirs), "<!DOCTYPE html>\n<p>mine");
  fs::create_directory(scratch / "folder");
  EXPECT_THAT(error_of<DataError>([&] { require_replaceable(scratch / "folder"); }), HasSubstr("is there already"));
  fs::create_symlink(file, scratch / "link.html");
  EXPECT_THAT(error_of<DataError>([&] { require_replaceable(scratch / "link.html"); }), HasSubstr("is there already"));
}

}  // namespace
}  // namespace weft
