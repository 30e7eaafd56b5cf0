#include "lamella/cli/line_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#ifdef LAMELLA_LIBEDIT
#include <histedit.h>
#endif

#include "lamella/cli/interrupt.h"

namespace lamella::cli {

#ifdef LAMELLA_LIBEDIT
// libedit with the keys of Emacs and a history of what was entered so far.
class LineReader::Editor {
 public:
  explicit Editor(const char* prompt)
      : prompt_(prompt),
        editor_(el_init("lamella", stdin, stdout, stderr)),
        history_(history_init()) {
    HistEvent event;
    history(history_, &event, H_SETSIZE, 1000);
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, show_prompt);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
  }
  ~Editor() {
    el_end(editor_);
    history_end(history_);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  std::optional<std::string> next() {
    int n = 0;
    const char* line = el_gets(editor_, &n);
    if (!line || n <= 0) {
      if (!interrupted().load()) return std::nullopt;
      el_reset(editor_);
      return "";
    }
    if (n > 1) {
      HistEvent event;
      history(history_, &event, H_ENTER, line);
    }
    return std::string(line, static_cast<size_t>(n));
  }

 private:
  static char* show_prompt(EditLine* editor) {
    Editor* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return const_cast<char*>(self->prompt_);
  }

  const char* prompt_;
  EditLine* editor_;
  History* history_;
};
#else
class LineReader::Editor {};
#endif

LineReader::LineReader(std::string prompt)
    : prompt_(std::move(prompt)), is_terminal_(isatty(STDIN_FILENO) != 0) {
#ifdef LAMELLA_LIBEDIT
  if (is_terminal_) editor_ = std::make_unique<Editor>(prompt_.c_str());
#endif
}

LineReader::~LineReader() = default;

namespace {

// Up to the end of a line; nothing at the end of the input.
std::optional<std::string> plain_line() {
  std::string line;
  for (int c; (c = std::getc(stdin)) != EOF;) {
    line += static_cast<char>(c);
    if (c == '\n') return line;
  }
  if (std::ferror(stdin) && errno == EINTR) {
    std::clearerr(stdin);
    return "";
  }
  return line.empty() ? std::nullopt : std::optional(line);
}

}  // namespace

std::optional<std::string> LineReader::next() {
  std::optional<std::string> line;
#ifdef LAMELLA_LIBEDIT
  if (editor_) line = editor_->next();
#endif
  if (!editor_) {
    if (is_terminal_) std::fputs(prompt_.c_str(), stdout), std::fflush(stdout);
    line = plain_line();
  }
  while (line && !line->empty() && (line->back() == '\n' || line->back() == '\r')) line->pop_back();
  return line;
}

}  // namespace lamella::cli
