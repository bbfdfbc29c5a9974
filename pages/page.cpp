// SPDX-License-Identifier: Apache-2.0
#include "pages/page.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "pages/assets.h"

namespace weft {
namespace {

// How every page begins, so that weft knows its own.
constexpr std::string_view kBegin = "<!DOCTYPE html>\n<!-- A page of weft, version 1. -->\n";

constexpr std::string_view kLicence =
    "Styles and scripts of weft: Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0";

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// Of whole bytes in hexadecimal, as policies write checksums.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < hex.size(); at += 6) {
    const std::string_view some = hex.substr(at, 6);
    uint32_t bits = 0;
    for (size_t i = 0; i < 6; ++i) bits = bits << 4 | static_cast<uint32_t>(i < some.size() ? digit(some[i]) : 0);
    for (size_t i = 0; i < 4; ++i) text += i <= some.size() / 2 ? kLetters[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

// The scripts of a page, in their order.
std::vector<Asset> scripts_of(PageKind kind) {
  const PageAssets& assets = page_assets();
  if (kind == PageKind::Attention) return {assets.attention};
  if (kind == PageKind::Statistics) return {assets.statistics};
  if (kind == PageKind::Vectors) return {assets.vectors};
  if (!has_dygraphs()) return {assets.report};
  return {assets.dygraphs_script, assets.report};
}

// Scripts run by their checksums alone. Styles may be set by scripts, and no style can load anything.
std::string policy(const std::vector<Asset>& allowed) {
  std::string scripts;
  for (const Asset& script : allowed)
    scripts += fmt::format("{}'sha256-{}'", scripts.empty() ? "" : " ", base64_of_hex(script.sha256));
  return fmt::format(
      "default-src 'none'; script-src {}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'", scripts);
}

std::string as_text(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '<')
      html += "&lt;";
    else if (c == '>')
      html += "&gt;";
    else if (c == '&')
      html += "&amp;";
    else
      html += c;
  }
  return html;
}

std::string foot(bool has_curves) {
  std::string html = fmt::format("<footer>\n<details><summary>Licences</summary>\n<pre>{}</pre>\n", kLicence);
  if (has_curves) {
    html += fmt::format("<h3>dygraphs</h3>\n<pre>{}</pre>\n", as_text(page_assets().dygraphs_licence.text));
  }
  return html + "</details>\n</footer>\n";
}

}  // namespace

std::string page_html(PageKind kind, std::string_view body) {
  const PageAssets& assets = page_assets();
  const std::vector<Asset> scripts = scripts_of(kind);
  const bool has_curves = kind == PageKind::Report && has_dygraphs();
  std::string html(kBegin);
  html += fmt::format(
      "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>weft</title>\n"
      "<style>{}</style>\n<style>{}</style>\n</head>\n<body>\n",
      policy(scripts), has_curves ? assets.dygraphs_style.text : "", assets.style.text);
  html += "<noscript><p>This page shows its numbers by scripts.</p></noscript>\n";
  html += body;
  html += "<main id=\"page\"></main>\n";
  html += foot(has_curves);
  for (const Asset& script : scripts) html += fmt::format("<script>{}</script>\n", script.text);
  return html + "</body>\n</html>\n";
}

void require_replaceable(const fs::path& file) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(file, ignored);
  if (status.type() == fs::file_type::not_found) return;
  std::string begin;
  if (status.type() == fs::file_type::regular) {
    const File there(file, File::Mode::Read);
    begin.resize(std::min<uint64_t>(there.size(), kBegin.size()));
    there.read_at(0, begin.data(), begin.size());
  }
  if (begin != kBegin) {
    throw DataError(fmt::format("{} is there already, and is no page that weft wrote", file.string()),
                    "remove it, or write to another name");
  }
}

void write_page(const fs::path& file, std::string_view page) {
  require_replaceable(file);
  write_file_atomically(file, page);
}

}  // namespace weft
