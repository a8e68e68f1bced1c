/* Answers rows that simavr.c puts into its memory; GPIOR0 tells where it is. */
#include <avr/io.h>

#include "answers.h"

static struct {
    INPUT x[ROW];
    struct answers answers;
} row;

int main(void)
{
    START;
    GPIOR1 = (uint8_t)(uint16_t)&row;
    GPIOR2 = (uint8_t)((uint16_t)&row >> 8);
    for (;;) {
        ANSWER answer;

        GPIOR0 = 1; /* wants a row */
        BARRIER;
        GPIOR0 = 2;
        answer = ask(row.x);
        __asm__ volatile("" ::"r"(answer) : "memory"); /* it is not stored before */
        GPIOR0 = 3;
        row.answers.winner = WINNER(answer);
        mdl_scores(GIVEN(row.x), row.answers.scores);
#ifdef STREAM
        row.answers.winner = due ? row.answers.winner : NO_ANSWER;
#endif
        BARRIER;
        GPIOR0 = 4; /* has answered */
    }
}
