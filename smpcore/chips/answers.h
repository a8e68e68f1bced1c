/* What a program on a chip holds: one row of inputs, and the model's answers to it. */
#include "asking.h"

#ifndef MDL_CLASSES /* a value has no scores */
#define MDL_CLASSES 1
#define mdl_scores(x, scores) ((void)(*(scores) = mdl_predict(x)))
#define WINNER(answer) ((void)(answer), (uint16_t)0)
#else
#define WINNER(answer) ((uint16_t)(answer))
#endif

#ifdef STREAM
static WINDOW window[MDL_N];

#undef GIVEN
#define GIVEN(x) (mdl_stream_inputs(&stream, window), window)
#define NO_ANSWER 0xffffU

#undef START
#define START start_anywhere()
static void start_anywhere(void)
{
    volatile uint8_t *byte = (volatile uint8_t *)(&stream + 1);

    while (byte != (volatile uint8_t *)&stream) { /* as memory that nobody has cleared */
        *--byte = 0xa5;
    }
    mdl_stream_start(&stream);
}
#endif

struct answers {
    SCORE scores[MDL_CLASSES];
    uint16_t winner;
};

/* Nothing moves past this: a call stays between the marks around it. */
#define BARRIER __asm__ volatile("" ::: "memory")
