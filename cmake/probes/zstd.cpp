#include <zstd.h>
int main() { return ZSTD_versionNumber() == 0; }
