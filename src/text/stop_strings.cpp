// Implements text/stop_strings.h.
#include "lamella/text/stop_strings.h"

#include <algorithm>

#include "lamella/base/error.h"

namespace lamella {

StopStrings::StopStrings(std::vector<std::string> strings) {
  for (std::string& text : strings) {
    CHECK_USER(!text.empty(), "stop string: got an empty one; want at least a character");
    Watch w{.text = std::move(text), .border = {}, .matched = 0};
    w.border.assign(w.text.size() + 1, 0);
    for (size_t i = 1, k = 0; i < w.text.size(); ++i) {
      while (k > 0 && w.text[i] != w.text[k]) k = w.border[k];
      if (w.text[i] == w.text[k]) ++k;
      w.border[i + 1] = k;
    }
    watches_.push_back(std::move(w));
  }
}

std::string StopStrings::push(std::string_view text) {
  if (!found_.empty()) return {};
  std::string shown;
  for (const char c : text) {
    held_ += c;
    size_t longest = 0;  // of the starts that could go on
    const Watch* complete = nullptr;
    for (Watch& w : watches_) {
      while (w.matched > 0 && c != w.text[w.matched]) w.matched = w.border[w.matched];
      if (c == w.text[w.matched]) ++w.matched;
      longest = std::max(longest, w.matched);
      const bool is_longer = !complete || w.text.size() > complete->text.size();
      if (w.matched == w.text.size() && is_longer) complete = &w;
    }
    if (complete) {
      found_ = complete->text;
      shown.append(held_, 0, held_.size() - found_.size());
      held_.clear();
      return shown;
    }
    shown.append(held_, 0, held_.size() - longest);
    held_.erase(0, held_.size() - longest);
  }
  return shown;
}

std::string StopStrings::finish() {
  std::string rest;
  rest.swap(held_);
  return rest;
}

}  // namespace lamella
