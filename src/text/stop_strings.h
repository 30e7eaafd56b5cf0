// Ends a stream of text where one of some strings occurs, and holds back what could become one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lamella {

class StopStrings {
 public:
  StopStrings() = default;
  // UserError for an empty string.
  explicit StopStrings(std::vector<std::string> strings);

  // Adds text; returns what may be shown now: all that can be no part of a stop string, and
  // nothing of one. After a stop nothing more comes.
  std::string push(std::string_view text);
  // What was held back, at the end of the stream.
  std::string finish();

  // The string that has occurred; empty if none has.
  const std::string& found() const { return found_; }

 private:
  // A string, and how much of it the text ends with: Knuth-Morris-Pratt.
  struct Watch {
    std::string text;
    std::vector<size_t> border;  // of each prefix: its longest proper one that is a suffix too
    size_t matched = 0;
  };
  std::vector<Watch> watches_;
  std::string held_;
  std::string found_;
};

}  // namespace lamella
