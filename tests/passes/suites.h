// The cases of each pass, one file a pass.
#pragma once

#include "tests/passes/pass_case.h"

namespace lamella::test {

PassSuite canonicalise_suite();
PassSuite choose_layouts_suite();
PassSuite eliminate_common_suite();
PassSuite expand_unclaimed_suite();
PassSuite fold_constants_suite();
PassSuite form_regions_suite();
PassSuite fuse_suite();
PassSuite pack_activations_suite();
PassSuite requantize_weights_suite();
PassSuite schedule_suite();

}  // namespace lamella::test
