#include "lamella/cli/command.h"

#include <CLI/CLI.hpp>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella::cli {
namespace {

std::string range_text(const IntRange& r) {
  if (r.high == std::numeric_limits<int64_t>::max())
    return str("a whole number, ", r.low, " or more");
  return str("a whole number from ", r.low, " to ", r.high);
}

std::string range_text(const NumberRange& r) {
  if (r.high == std::numeric_limits<double>::max())
    return str("a number, ", number_text(r.low), " or more");
  return str("a number from ", number_text(r.low), " to ", number_text(r.high));
}

// "--tokens" of "-n,--tokens".
std::string long_name(std::string_view flags) {
  const size_t comma = flags.rfind(',');
  return std::string(comma == std::string_view::npos ? flags : flags.substr(comma + 1));
}

CLI::Option* option_of(CLI::App& app, std::string_view flags, std::string_view name,
                       std::string_view doc, const std::function<void(const std::string&)>& set) {
  // The last one counts where an option is given twice.
  return app.add_option_function<std::string>(std::string(flags), set, std::string(doc))
      ->type_name(std::string(name))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

void Command::argument(std::string_view name, std::string& value, std::string_view doc,
                       bool required) {
  app_->add_option(std::string(name), value, std::string(doc))->required(required);
}

void Command::text(std::string_view flags, std::string_view name, std::string& value,
                   std::string_view doc, bool required) {
  option_of(*app_, flags, name, doc, [&value](const std::string& given) { value = given; })
      ->required(required)
      ->default_str(value);
}

void Command::text(std::string_view flags, std::string_view name, std::optional<std::string>& value,
                   std::string_view doc) {
  option_of(*app_, flags, name, doc, [&value](const std::string& given) { value = given; });
}

void Command::texts(std::string_view flags, std::string_view name, std::vector<std::string>& values,
                    std::string_view doc) {
  app_->add_option(std::string(flags), values, std::string(doc))
      ->type_name(std::string(name))
      ->allow_extra_args(false);  // one text each time it is given
}

void Command::choice(std::string_view flags, std::string_view name, std::string& value,
                     std::vector<std::string> choices, std::string_view doc) {
  const std::string flag = long_name(flags);
  auto set = [&value, flag, choices = std::move(choices)](const std::string& given) {
    const std::vector<std::string_view> views(choices.begin(), choices.end());
    CHECK_USER(std::find(choices.begin(), choices.end(), given) != choices.end(), flag,
               ": no such choice; got '", printable(given), "'; want ", join(choices, ", "),
               did_you_mean(given, views));
    value = given;
  };
  option_of(*app_, flags, name, doc, set)->default_str(value);
}

void Command::integer_option(std::string_view flags, std::string_view name, IntRange range,
                             int64_t value, std::string_view doc,
                             std::function<void(int64_t)> set) {
  auto parse = [flag = long_name(flags), range, set = std::move(set)](const std::string& given) {
    const std::optional<int64_t> number = parse_int(given);
    CHECK_USER(number && *number >= range.low && *number <= range.high, flag, ": got '",
               printable(given), "'; want ", range_text(range));
    set(*number);
  };
  CLI::Option* option = option_of(*app_, flags, name, doc, parse);
  if (value >= range.low) option->default_str(std::to_string(value));
}

void Command::number(std::string_view flags, std::string_view name, double& value,
                     NumberRange range, std::string_view doc) {
  auto parse = [&value, flag = long_name(flags), range](const std::string& given) {
    const std::optional<double> number = parse_double(given);
    // The comparisons refuse NaN too.
    CHECK_USER(number && *number >= range.low && *number <= range.high, flag, ": got '",
               printable(given), "'; want ", range_text(range));
    value = *number;
  };
  option_of(*app_, flags, name, doc, parse)->default_str(number_text(value));
}

void Command::flag(std::string_view flags, bool& value, std::string_view doc) {
  app_->add_flag_callback(
      std::string(flags), [&value] { value = true; }, std::string(doc));
}

Command Command::command(std::string_view name, std::string_view doc) {
  app_->require_subcommand(1);
  return {*app_->add_subcommand(std::string(name), std::string(doc)), *status_};
}

void Command::examples(std::string_view text) { app_->footer(std::string(text)); }

void Command::action(std::function<int()> run) {
  app_->final_callback([run = std::move(run), status = status_] { *status = run(); });
}

}  // namespace lamella::cli
