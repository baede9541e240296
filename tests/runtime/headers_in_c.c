/* The public headers as a C99 compiler reads them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fovea/fovea.h>
#include <fovea/registry.h>

size_t fovea_test_c_call_size(void);
size_t fovea_test_c_call_size(void) {
  fovea_call call = {0};
  call.size = sizeof(call);
  return call.size;
}
