// How a tokenizer.json cuts a text into words: the steps of its "pre_tokenizer".
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/text/tokenizer_json/step_json.h"

namespace lamella::tokenizer_json {

struct Piece {
  std::string_view text;
  bool at_start = false;  // of the whole text
};

// The texts that steps make; they live as long as the call.
using Texts = std::deque<std::string>;

class PreTokenizer {
 public:
  using Step = std::function<void(std::vector<Piece>&, Texts&)>;

  PreTokenizer() = default;
  // `json` may be null. UserError names what is not known.
  explicit PreTokenizer(const Json& json);

  void apply(std::vector<Piece>& pieces, Texts& texts) const {
    for (const Step& step : steps_) step(pieces, texts);
  }
  // The last step writes bytes in GPT-2's alphabet; `apply` leaves that to the model.
  bool ends_in_bytes() const { return ends_in_bytes_; }
  bool empty() const { return steps_.empty(); }

 private:
  void read(const Json& json, int depth);

  std::vector<Step> steps_;
  bool ends_in_bytes_ = false;
};

}  // namespace lamella::tokenizer_json
