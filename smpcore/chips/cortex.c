/* Answers the rows of a file, on a Cortex-M that QEMU plays: file to file through
 * semihosting. Its clock ticks once in 40 instructions. */
#include "answers.h"

#define CALLS 40U           /* so many calls show single instructions */
#define MANY_TICKS 250U     /* where one call shows them well enough */
#define PAINTED 8192U       /* words of stack */
#define PAINT 0xa5c35a3cUL
#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CLOCK_CONTROL REGISTER(0xe000e010UL)
#define CLOCK_TOP REGISTER(0xe000e014UL)
#define CLOCK REGISTER(0xe000e018UL)
#define COPROCESSORS REGISTER(0xe000ed88UL)

enum { OPEN = 1, CLOSE = 2, WRITE = 5, READ = 6, EXIT = 0x18 };
enum { AS_BYTES_IN = 1, AS_BYTES_OUT = 5 };

static INPUT x[ROW];
static struct answers answers;
static volatile ANSWER answer;

#ifdef STREAM /* a call changes it: each begins with what the sample found */
static struct mdl_stream before;

static __attribute__((noinline)) void copy(volatile uint8_t *to, const void *from)
{
    const uint8_t *const bytes = from;
    uint32_t k;

    for (k = 0; k < sizeof before; ++k) {
        to[k] = bytes[k]; /* volatile: there is no memcpy to call */
    }
}
#define KEEP copy((volatile uint8_t *)&before, &stream)
#define RESTORE copy((volatile uint8_t *)&stream, &before)
#define TICKS_OF_RESTORE ticks_of_nothing(1)
#else
#define KEEP ((void)0)
#define RESTORE ((void)0)
#define TICKS_OF_RESTORE 0U
#endif

extern uint32_t stack[];
void reset(void);

static uint32_t request(uint32_t what, const void *with)
{
    register uint32_t r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static uint32_t open_file(const char *name, uint32_t size, uint32_t mode)
{
    const uint32_t words[3] = {(uint32_t)name, mode, size};
    return request(OPEN, words);
}

/* Bytes that are left over. */
static uint32_t transfer(uint32_t what, uint32_t file, const void *bytes, uint32_t size)
{
    const uint32_t words[3] = {file, (uint32_t)bytes, size};
    return request(what, words);
}

static __attribute__((noinline)) uint32_t ticks_of_calls(uint32_t calls)
{
    const uint32_t start = CLOCK;

    for (; calls > 0; --calls) {
        RESTORE;
        BARRIER;
        answer = ask(x);
        BARRIER;
    }
    return (start - CLOCK) & 0xffffffUL;
}

static __attribute__((noinline)) uint32_t ticks_of_nothing(uint32_t calls)
{
    const uint32_t start = CLOCK;

    for (; calls > 0; --calls) {
        RESTORE;
        BARRIER;
        answer = 0;
        BARRIER;
    }
    return (start - CLOCK) & 0xffffffUL;
}

static uint32_t instructions(void)
{
    const uint32_t once = ticks_of_calls(1);

    if (once >= MANY_TICKS) {
        return 40U * (once - TICKS_OF_RESTORE);
    }
    return 40U / CALLS * (ticks_of_calls(CALLS) - ticks_of_nothing(CALLS));
}

/* Bytes of stack that a call wrote to; 0xffffffff: more than were painted. */
static __attribute__((noinline)) uint32_t stack_of_call(void)
{
    volatile uint32_t *top;
    volatile uint32_t *lowest;
    volatile uint32_t *p;

    __asm__ volatile("mov %0, sp" : "=r"(top));
    lowest = top - PAINTED;
    for (p = lowest; p < top; ++p) {
        *p = PAINT;
    }
    RESTORE;
    BARRIER;
    answer = ask(x);
    BARRIER;
    p = lowest;
    while (p < top && *p == PAINT) {
        ++p;
    }
    return p == lowest ? 0xffffffffUL : 4U * (uint32_t)(top - p);
}

static __attribute__((noinline)) void answer_rows(void)
{
    const uint32_t given = open_file("rows", 4, AS_BYTES_IN);
    const uint32_t told = open_file("told", 4, AS_BYTES_OUT);

    CLOCK_TOP = 0xffffffUL;
    CLOCK = 0;
    CLOCK_CONTROL = 5; /* on, at the speed of the processor */
    START;
    while (transfer(READ, given, x, sizeof x) == 0) {
        uint32_t took[2];

        KEEP;
        took[0] = instructions();
        took[1] = stack_of_call();
        answers.winner = WINNER(answer);
        mdl_scores(GIVEN(x), answers.scores);
#ifdef STREAM
        answers.winner = due ? answers.winner : NO_ANSWER;
#endif
        transfer(WRITE, told, took, sizeof took);
        transfer(WRITE, told, answers.scores, sizeof answers.scores);
        transfer(WRITE, told, &answers.winner, sizeof answers.winner);
    }
    request(CLOSE, &told);
    request(EXIT, (const void *)0x20026UL); /* all went well */
}

void reset(void)
{
#ifdef __ARM_FP
    COPROCESSORS |= 0xfUL << 20; /* floats in hardware */
    __asm__ volatile("dsb\nisb" ::: "memory");
#endif
    answer_rows();
}

static void fault(void)
{
    request(EXIT, (const void *)0x20024UL); /* an error inside */
}

__attribute__((section(".vectors"), used)) static const struct {
    const void *top;
    void (*handlers[3])(void);
} vectors = {stack, {reset, fault, fault}};
