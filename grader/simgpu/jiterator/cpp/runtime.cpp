// The runtime as one translation unit: one run of the compiler builds it.
#include "guard.cpp"
#include "launch.cpp"
