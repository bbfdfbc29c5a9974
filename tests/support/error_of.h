// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/error.h"

namespace weft::test {

// The message of the error that `call` throws, its hint in brackets; "no error" if it throws none.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()) + (error.hint().empty() ? "" : " [" + error.hint() + "]");
  }
  return "no error";
}

}  // namespace weft::test
