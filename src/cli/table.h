// Text in columns for a terminal.
#pragma once

#include <string>
#include <vector>

namespace lamella::cli {

class Table {
 public:
  // Headings; one that begins with '>' has its column aligned right.
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Two spaces between columns, none at the end of a line.
  std::string text() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// `number` with `digits` behind the point.
std::string fixed(double number, int digits);

}  // namespace lamella::cli
