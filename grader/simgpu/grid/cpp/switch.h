// Changing stacks: what a function call must preserve is kept on the stack that is left.
#pragma once
#include <cstdint>
#include <cstring>

#ifdef __APPLE__
#define GRID_SYMBOL "_grid_switch"
#else
#define GRID_SYMBOL "grid_switch"
#endif

extern "C" void grid_switch(void** save, void* to);

#if defined(__x86_64__)
asm(".text\n.globl " GRID_SYMBOL "\n.p2align 4\n" GRID_SYMBOL ":\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n");

// A stack that starts in `entry`, which must not return.
inline void* fresh_stack(char* top, void (*entry)()) {
    void** sp = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{63});
    *--sp = nullptr;                 // where entry's caller would be: keeps the stack aligned as after a call
    *--sp = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; i++) *--sp = nullptr;
    return sp;
}
#elif defined(__aarch64__)
asm(".text\n.globl " GRID_SYMBOL "\n.p2align 4\n" GRID_SYMBOL ":\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n  ret\n");

inline void* fresh_stack(char* top, void (*entry)()) {
    char* sp = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{63}) - 160;
    memset(sp, 0, 160);
    memcpy(sp + 88, &entry, 8);      // x30, where `ret` goes
    return sp;
}
#else
#error "the simulated GPU runs on x86-64 and 64-bit Arm processors"
#endif
