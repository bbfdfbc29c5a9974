// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
int main() {
  unsigned unicode = 0;
  return pcre2_config(PCRE2_CONFIG_UNICODE, &unicode) < 0 || unicode == 0;
}
