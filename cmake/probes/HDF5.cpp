// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>
int main() {
  unsigned major = 0, minor = 0, release = 0;
  return H5get_libversion(&major, &minor, &release) < 0 ||
         H5check_version(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE) < 0;
}
