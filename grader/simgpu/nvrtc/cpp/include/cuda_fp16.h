#pragma once
#include "half.h"
__GRID_SHORT_FLOAT(__half, __half2, half, half2, __half_raw, __grid_half_to_float, __grid_float_to_half)
typedef __half half;
typedef __half2 half2;
