#pragma once
#include "half.h"
__GRID_SHORT_FLOAT(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162, __nv_bfloat16_raw, __grid_bfloat16_to_float, __grid_float_to_bfloat16)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
