// Running compiled code that may loop for ever, divide by zero or overflow its stack, without losing the process.
#pragma once
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <pthread.h>

// Why a guarded call ended early. 0: it did not.
enum Outcome { OK = 0, INTERRUPTED = 1, STACK_OVERFLOW = 2, BAD_ADDRESS = 3, TRAP = 4, NO_RETURN = 5, ARITHMETIC = 6, ABORTED = 7 };

// One thread's guarded call. Lives on that thread's stack while the call runs.
struct Guard {
    sigjmp_buf back;
    volatile sig_atomic_t armed = 0;
    volatile sig_atomic_t stop = 0;  // asked to end: do not start, or leave at the next kick
    uint64_t pc = 0, sp = 0;         // where an interrupt ended it, if the system tells
    pthread_t thread;
    Guard* next = nullptr;           // list of all guards, for stopping them from another thread
};

constexpr int KICK = SIGUSR2, GUARD_SIGNALS[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGTRAP, KICK};

// Installs the signal handlers while at least one launch runs, and puts the previous ones back after the last.
// `main_thread`: also take SIGINT, which Python gives to its main thread only.
void handlers_acquire(bool main_thread);
void handlers_release(bool main_thread);
bool interrupted();                  // has SIGINT come since the main thread's launch began?

void stack_for_signals();            // gives this thread a stack to handle overflow of its own on
int guarded(void (*body)(void*), void* argument, Guard& guard);
void kick(Guard& guard);             // make `guard`'s thread leave its call, now

extern "C" int sim_stop_all();       // ends every running kernel; returns how many were asked
