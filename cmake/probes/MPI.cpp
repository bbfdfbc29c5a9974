// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
int main() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  return MPI_Get_library_version(text, &length) != MPI_SUCCESS || length == 0;
}
