// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/error.h"

namespace weft::test {

// The message of the error of this kind that `call` throws, its hint in brackets; "no error" if it throws none. An
// error of another kind is not caught.
template <class Kind = Error, class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Kind& error) {
    return std::string(error.what()) + (error.hint().empty() ? "" : " [" + error.hint() + "]");
  }
  return "no error";
}

}  // namespace weft::test
