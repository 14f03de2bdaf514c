#include "guard.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#ifdef __APPLE__
#include <sys/ucontext.h>
#else
#include <ucontext.h>
#endif
#include <unistd.h>

namespace {

thread_local Guard* current = nullptr;
thread_local bool has_signal_stack = false;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // guards the three below
Guard* running = nullptr;
int users = 0;
struct sigaction before[32];

volatile sig_atomic_t sigint_came = 0;
pthread_t sigint_owner;
struct sigaction sigint_before;

[[noreturn]] void leave(Outcome why) {
    current->armed = 0;
    siglongjmp(current->back, why);
}

bool here() { return current && current->armed; }

// What the process would have done with this signal had no kernel been running.
void pass_on(int sig, siginfo_t* info, void* context) {
    struct sigaction& old = before[sig];
    if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(sig, info, context);
    if (old.sa_handler == SIG_IGN) return;
    if (old.sa_handler != SIG_DFL) return old.sa_handler(sig);
    sigaction(sig, &old, nullptr);
    raise(sig);
}

#if defined(__linux__) && defined(__x86_64__)
// The registers in the order in which instructions number them.
const int ORDER[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                       REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

// A GPU has no trap for integer division. If `context` stands at a div or idiv, give its registers the GPU's result
// (all ones for a zero divisor, the wrapped quotient and remainder 0 for INT_MIN / -1) and step over it.
bool divide_as_the_gpu(ucontext_t* context) {
    greg_t* reg = context->uc_mcontext.gregs;
    const uint8_t* at = reinterpret_cast<const uint8_t*>(reg[REG_RIP]);
    bool half = false;
    int rex = 0;
    for (;; at++) {
        if (*at == 0x66) half = true;
        else if (*at != 0x2e && *at != 0x3e) break;
    }
    if ((*at & 0xf0) == 0x40) rex = *at++;
    const int opcode = *at++;
    if (opcode != 0xf6 && opcode != 0xf7) return false;
    const int mod = *at >> 6, op = (*at >> 3) & 7, rm = *at & 7;
    at++;
    if (op != 6 && op != 7) return false;
    const int bytes = opcode == 0xf6 ? 1 : rex & 8 ? 8 : half ? 2 : 4;
    uint64_t divisor = 0;
    if (mod == 3) {
        const int number = rm | (rex & 1) << 3;
        const bool high = bytes == 1 && !rex && number >= 4;  // ah, ch, dh, bh
        divisor = static_cast<uint64_t>(reg[ORDER[high ? number - 4 : number]]) >> (high ? 8 : 0);
    } else {
        int64_t address = 0;
        bool from_next = false;
        if (rm == 4) {
            const int sib = *at++, index = ((sib >> 3) & 7) | (rex & 2) << 2, base = (sib & 7) | (rex & 1) << 3;
            if (index != 4) address += reg[ORDER[index]] << (sib >> 6);
            if ((base & 7) == 5 && mod == 0) { int32_t d; memcpy(&d, at, 4); at += 4; address += d; }
            else address += reg[ORDER[base]];
        } else if (rm == 5 && mod == 0) {
            int32_t d; memcpy(&d, at, 4); at += 4; address += d;
            from_next = true;
        } else {
            address += reg[ORDER[rm | (rex & 1) << 3]];
        }
        if (mod == 1) address += static_cast<int8_t>(*at++);
        if (mod == 2) { int32_t d; memcpy(&d, at, 4); at += 4; address += d; }
        if (from_next) address += reinterpret_cast<int64_t>(at);
        memcpy(&divisor, reinterpret_cast<const void*>(address), bytes);
    }
    const uint64_t mask = bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1;
    const bool zero = (divisor & mask) == 0;
    const uint64_t quotient = zero ? mask : 1ull << (8 * bytes - 1), remainder = zero ? mask : 0;
    uint64_t ax = reg[REG_RAX], dx = reg[REG_RDX];
    if (bytes == 1) ax = (ax & ~0xffffull) | quotient | remainder << 8;
    else if (bytes == 2) ax = (ax & ~mask) | quotient, dx = (dx & ~mask) | remainder;
    else ax = quotient, dx = remainder;
    reg[REG_RAX] = ax;
    reg[REG_RDX] = dx;
    reg[REG_RIP] = reinterpret_cast<greg_t>(at);
    return true;
}

// An overflowing stack is met just below its pointer.
bool off_the_stack(void* context, int64_t address) {
    const int64_t above = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP] - address;
    return -(1 << 16) < above && above < (1 << 20);
}
#else
bool divide_as_the_gpu(ucontext_t*) { return false; }

bool off_the_stack(void*, int64_t address) {
    const int64_t below = reinterpret_cast<int64_t>(current) - address;
    return 0 < below && below < (1 << 26);
}
#endif

void on_fatal(int sig, siginfo_t* info, void* context) {
    if (!here()) return pass_on(sig, info, context);
    if (sig == SIGFPE) {
        if (divide_as_the_gpu(static_cast<ucontext_t*>(context))) return;
        leave(ARITHMETIC);
    }
    if (sig == SIGILL || sig == SIGTRAP) leave(NO_RETURN);
    if (sig == SIGABRT) leave(ABORTED);
    leave(off_the_stack(context, reinterpret_cast<int64_t>(info->si_addr)) ? STACK_OVERFLOW : BAD_ADDRESS);
}

[[noreturn]] void leave_interrupted(void* context) {
#if defined(__linux__) && defined(__x86_64__)
    const greg_t* reg = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    current->pc = reg[REG_RIP];
    current->sp = reg[REG_RSP];
#elif defined(__linux__) && defined(__aarch64__)
    current->pc = static_cast<ucontext_t*>(context)->uc_mcontext.pc;
    current->sp = static_cast<ucontext_t*>(context)->uc_mcontext.sp;
#else
    (void)context;
#endif
    leave(INTERRUPTED);
}

void on_kick(int, siginfo_t*, void* context) {
    if (here() && current->stop) leave_interrupted(context);
}

void on_interrupt(int sig, siginfo_t*, void* context) {
    if (!pthread_equal(pthread_self(), sigint_owner)) {
        pthread_kill(sigint_owner, sig);
        return;
    }
    sigint_came = 1;
    if (here()) leave_interrupted(context);
}

}  // namespace

void handlers_acquire(bool main_thread) {
    pthread_mutex_lock(&lock);
    if (users++ == 0) {
        struct sigaction now;
        memset(&now, 0, sizeof now);
        sigemptyset(&now.sa_mask);
        now.sa_flags = SA_SIGINFO | SA_ONSTACK;
        for (int sig : GUARD_SIGNALS) {
            now.sa_sigaction = sig == KICK ? on_kick : on_fatal;
            sigaction(sig, &now, &before[sig]);
        }
    }
    pthread_mutex_unlock(&lock);
    if (main_thread) {
        sigint_came = 0;
        sigint_owner = pthread_self();
        struct sigaction now;
        memset(&now, 0, sizeof now);
        sigemptyset(&now.sa_mask);
        now.sa_flags = SA_SIGINFO | SA_ONSTACK;
        now.sa_sigaction = on_interrupt;
        sigaction(SIGINT, &now, &sigint_before);
    }
}

void handlers_release(bool main_thread) {
    if (main_thread) sigaction(SIGINT, &sigint_before, nullptr);
    pthread_mutex_lock(&lock);
    if (--users == 0)
        for (int sig : GUARD_SIGNALS) sigaction(sig, &before[sig], nullptr);
    pthread_mutex_unlock(&lock);
}

bool interrupted() { return sigint_came; }

void stack_for_signals() {
    if (has_signal_stack) return;
    has_signal_stack = true;
    stack_t mine;
    if (sigaltstack(nullptr, &mine) == 0 && !(mine.ss_flags & SS_DISABLE) && mine.ss_size >= 32768) return;
    memset(&mine, 0, sizeof mine);
    mine.ss_size = 65536;
    mine.ss_sp = malloc(mine.ss_size);  // kept as long as the thread: a signal may come at any time
    sigaltstack(&mine, nullptr);
}

int guarded(void (*body)(void*), void* argument, Guard& guard) {
    guard.thread = pthread_self();
    pthread_mutex_lock(&lock);
    guard.next = running;
    running = &guard;
    pthread_mutex_unlock(&lock);
    Guard* outer = current;
    current = &guard;
    int why = sigsetjmp(guard.back, 1);
    if (why == 0) {
        guard.armed = 1;
        if (!guard.stop) body(argument);
        guard.armed = 0;
    }
    current = outer;
    pthread_mutex_lock(&lock);
    for (Guard** link = &running; *link; link = &(*link)->next)
        if (*link == &guard) { *link = guard.next; break; }
    pthread_mutex_unlock(&lock);
    return why ? why : guard.stop ? INTERRUPTED : OK;
}

void kick(Guard& guard) {
    guard.stop = 1;
    pthread_kill(guard.thread, KICK);
}

extern "C" int sim_stop_all() {
    int asked = 0;
    pthread_mutex_lock(&lock);
    for (Guard* g = running; g; g = g->next, asked++) kick(*g);
    pthread_mutex_unlock(&lock);
    return asked;
}

// What kernels call.
extern "C" [[noreturn]] void sim_trap() { leave(TRAP); }

extern "C" long long sim_clock() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// printf without the lock of stdout, which a kernel that is stopped would keep for ever.
extern "C" int sim_printf(const char* format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const int shown = length < static_cast<int>(sizeof line) ? length : static_cast<int>(sizeof line) - 1;
    for (int done = 0; done < shown;) {
        const ssize_t more = write(STDOUT_FILENO, line + done, shown - done);
        if (more <= 0) break;
        done += more;
    }
    return length;
}
