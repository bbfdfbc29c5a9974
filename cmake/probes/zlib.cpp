#include <zlib.h>
int main() { return zlibVersion()[0] == 0; }
