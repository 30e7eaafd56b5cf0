// The tokens that a tokenizer.json puts before and after a text: its "post_processor".
#pragma once

#include <cstdint>
#include <vector>

#include "lamella/text/tokenizer_json/step_json.h"

namespace lamella::tokenizer_json {

struct Affixes {
  std::vector<int32_t> before, after;
};

// `json` may be null. UserError names what is not known.
Affixes read_affixes(const Json& json);

}  // namespace lamella::tokenizer_json
