// One command of the command line: its arguments, its options and what it does. A thin layer over
// the parser, so that every option states its range and every message has one form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace lamella::cli {

inline constexpr int kDone = 0, kCheckFailed = 1, kBadUse = 2, kInternalBug = 70,
                     kDeviceFailed = 71;

struct IntRange {
  int64_t low = 0;
  int64_t high = std::numeric_limits<int64_t>::max();
};
struct NumberRange {
  double low = 0;
  double high = std::numeric_limits<double>::max();
};

// Values that options write must outlive the parse: commands keep them in what their action holds.
class Command {
 public:
  Command(CLI::App& app, int& status) : app_(&app), status_(&status) {}

  // A positional argument; `name` is how help and messages call it ("MODEL").
  void argument(std::string_view name, std::string& value, std::string_view doc,
                bool required = true);
  // `flags` are "-n,--tokens"; `name` stands for the value in help ("N").
  void text(std::string_view flags, std::string_view name, std::string& value, std::string_view doc,
            bool required = false);
  void text(std::string_view flags, std::string_view name, std::optional<std::string>& value,
            std::string_view doc);
  // May be given often.
  void texts(std::string_view flags, std::string_view name, std::vector<std::string>& values,
             std::string_view doc);
  void choice(std::string_view flags, std::string_view name, std::string& value,
              std::vector<std::string> choices, std::string_view doc);
  template <class Int>
  void integer(std::string_view flags, std::string_view name, Int& value, IntRange range,
               std::string_view doc) {
    range.high = std::min<int64_t>(range.high, static_cast<int64_t>(std::min<uint64_t>(
                                                   std::numeric_limits<Int>::max(), INT64_MAX)));
    integer_option(flags, name, range, static_cast<int64_t>(value), doc,
                   [&value](int64_t given) { value = static_cast<Int>(given); });
  }
  void number(std::string_view flags, std::string_view name, double& value, NumberRange range,
              std::string_view doc);
  void flag(std::string_view flags, bool& value, std::string_view doc);

  // A command below this one; then this one only groups them.
  Command command(std::string_view name, std::string_view doc);
  // Lines shown below the options.
  void examples(std::string_view text);
  // What the command does; returns the exit code.
  void action(std::function<int()> run);

 private:
  void integer_option(std::string_view flags, std::string_view name, IntRange range, int64_t value,
                      std::string_view doc, std::function<void(int64_t)> set);

  CLI::App* app_;
  int* status_;
};

// A row of the table of commands.
struct CommandRow {
  std::string_view name, doc;
  void (*add)(Command command);
};

// In the order of `lamella --help`.
std::span<const CommandRow> commands();

// One a file.
void add_bench(Command command);
void add_chat(Command command);
void add_check(Command command);
void add_env(Command command);
void add_explain(Command command);
void add_inspect(Command command);
void add_formats(Command command);
void add_imatrix(Command command);
void add_models(Command command);
void add_ops(Command command);
void add_perplexity(Command command);
void add_quantize(Command command);
void add_run(Command command);
void add_tokenize(Command command);

}  // namespace lamella::cli
