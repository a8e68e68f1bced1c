/* What a program calls: the prediction, where INTEGER is defined after a conversion of
 * floats to that type; where STREAM is, a row is a sample, which may have no answer. */
#include "mdl.h"

#ifdef STREAM
#include "mdl_stream.h"

#define ROW MDL_STREAM_N
#define CONVERT mdl_stream_quantise
#define START mdl_stream_start(&stream)
static struct mdl_stream stream;
static uint8_t due;

static inline ANSWER predict(const TAKEN *x)
{
    due = mdl_stream_push(&stream, x);
#ifdef MDL_STREAM_VOTES
    return due ? mdl_stream_debounced(&stream) : 0;
#else
    return due ? mdl_stream_predict(&stream) : 0;
#endif
}
#else
#define ROW MDL_N
#define CONVERT mdl_quantise
#ifdef BLOCK
#include "mdl_block.h"
#define START ((void)mdl_load(mdl_block.bytes, sizeof mdl_block.bytes, 0))
#else
#define START ((void)0)
#endif
#define predict mdl_predict
#endif

#ifdef INTEGER
static INTEGER integers[ROW];

static inline ANSWER ask(const INPUT *x)
{
    CONVERT(x, integers);
    return predict(integers);
}
#define GIVEN(x) integers
#else
#define ask predict
#define GIVEN(x) (x)
#endif
