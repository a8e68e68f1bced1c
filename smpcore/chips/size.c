/* The same program with and without a model: the difference is what the model takes. */
#include "asking.h"

INPUT x[ROW];
volatile ANSWER answer;

int main(void)
{
    x[0] = 1;
#ifdef WITH_MODEL
    START;
    answer = ask(x);
#else
    answer = 0;
#endif
    return 0;
}
