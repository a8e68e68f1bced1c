/* What a program calls: the prediction, where INTEGER is defined after a conversion of
 * floats to that type. */
#include "mdl.h"

#ifdef INTEGER
static INTEGER integers[MDL_N];

static inline ANSWER ask(const INPUT *x)
{
    mdl_quantise(x, integers);
    return mdl_predict(integers);
}
#define GIVEN(x) integers
#else
#define ask mdl_predict
#define GIVEN(x) (x)
#endif
