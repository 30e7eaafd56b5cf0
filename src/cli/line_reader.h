// Lines from standard input: with editing and history where it is a terminal, plainly otherwise.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace lamella::cli {

class LineReader {
 public:
  // `prompt` is shown on terminals only.
  explicit LineReader(std::string prompt);
  ~LineReader();

  bool is_terminal() const { return is_terminal_; }
  // The next line without its end; nothing at the end of the input. A Ctrl-C gives an empty line.
  std::optional<std::string> next();

 private:
  class Editor;
  std::string prompt_;
  bool is_terminal_;
  std::unique_ptr<Editor> editor_;
};

}  // namespace lamella::cli
