// SPDX-License-Identifier: Apache-2.0
#include "data/text/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/text/valid_utf8.h"

namespace weft {
namespace {

utf8proc_option_t options_of(NormalForm form) {
  const bool composes = form == NormalForm::Nfc || form == NormalForm::Nfkc;
  const bool replaces = form == NormalForm::Nfkc || form == NormalForm::Nfkd;
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                        (replaces ? UTF8PROC_COMPAT : 0));
}

void append_normal(std::string& normal, std::string_view valid, NormalForm form) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(valid.data()),
                                             static_cast<utf8proc_ssize_t>(valid.size()), &mapped, options_of(form));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, std::free);
  require<DataError>(size >= 0, "a text of {} bytes has no form {}: {}", valid.size(), enum_name(form),
                     utf8proc_errmsg(size));
  normal.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
}

}  // namespace

bool is_plainly_nfc(std::string_view text) {
  constexpr unsigned char kLeadOfU0300 = 0xCC;
  return std::ranges::none_of(text, [](char byte) { return static_cast<unsigned char>(byte) >= kLeadOfU0300; });
}

std::string to_normal_form(std::string_view text, NormalForm form) {
  std::string normal;
  normal.reserve(text.size());
  for_each_valid_part(
      text, [&](std::string_view valid) { append_normal(normal, valid, form); },
      [&](std::string_view byte) { normal += byte; });
  return normal;
}

}  // namespace weft
