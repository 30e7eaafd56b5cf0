// What a tokenizer.json does to a text before it is cut: the steps of its "normalizer".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lamella/text/tokenizer_json/step_json.h"

namespace lamella::tokenizer_json {

class Normalizer {
 public:
  using Step = std::function<std::string(std::string)>;

  Normalizer() = default;
  // `json` may be null. UserError names what is not known.
  explicit Normalizer(const Json& json);

  std::string apply(std::string text) const;
  bool empty() const { return steps_.empty(); }

 private:
  std::vector<Step> steps_;
};

}  // namespace lamella::tokenizer_json
