/* A kernel whose items are of type ITEM. */
#include "llmc/Runtime/UserKernel.h"

#ifdef __cplusplus
extern "C" {
#endif
llmc_user_kernel typed;
void typed(void *const *args, ITEM begin, ITEM end, void *scratch, const double *facts) {
  (void)args, (void)begin, (void)end, (void)scratch, (void)facts;
}
#ifdef __cplusplus
}
#endif
