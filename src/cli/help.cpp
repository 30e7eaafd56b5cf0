#include "lamella/cli/help.h"

#include <algorithm>
#include <sstream>

namespace lamella::cli {
namespace {

constexpr size_t kWidth = 96, kColumn = 26;

// "lamella check quant": the commands that lead to this one.
std::string full_name(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent ? full_name(parent) + " " + app->get_name() : app->get_name();
}

// `left` in the left column, `right` beside it, its lines broken between words.
void put_entry(std::ostream& out, const std::string& left, const std::string& right) {
  out << "  " << left;
  size_t at = 2 + left.size();
  if (at + 2 > kColumn) {
    out << "\n";
    at = 0;
  }
  out << std::string(kColumn - at, ' ');
  at = kColumn;
  std::istringstream words(right);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && at + 1 + word.size() > kWidth) {
      out << "\n" << std::string(kColumn, ' ');
      at = kColumn;
    } else if (!first) {
      out << ' ';
      ++at;
    }
    out << word;
    at += word.size();
  }
  out << "\n";
}

// "-n, --tokens N"
std::string option_name(const CLI::Option& option) {
  std::string out;
  for (const std::string& s : option.get_snames()) out += "-" + s + ", ";
  for (const std::string& l : option.get_lnames()) out += "--" + l + ", ";
  out.resize(out.size() - 2);
  if (option.get_snames().empty()) out = "    " + out;
  if (option.get_type_size() != 0) out += " " + option.get_type_name();
  return out;
}

std::string option_doc(const CLI::Option& option) {
  const std::string& value = option.get_default_str();
  const bool shown = !value.empty() && !option.get_required();
  return option.get_description() + (shown ? " [" + value + "]" : "");
}

std::string usage(const CLI::App& app) {
  std::string out = "usage: " + full_name(&app);
  bool optional = false;
  for (const CLI::Option* o : app.get_options()) {
    if (o->get_positional())
      out += o->get_required() ? " " + o->get_name(true) : " [" + o->get_name(true) + "]";
    else if (o->get_required())
      out += " " +
             (o->get_snames().empty() ? "--" + o->get_lnames()[0] : "-" + o->get_snames()[0]) +
             " " + o->get_type_name();
    else
      optional = true;
  }
  if (!app.get_subcommands([](const CLI::App*) { return true; }).empty()) out += " COMMAND";
  return out + (optional ? " [options]" : "") + "\n";
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  std::ostringstream out;
  out << app->get_description() << "\n\n" << usage(*app);
  bool any = false;
  auto heading = [&](const char* text) {
    if (!any) out << "\n" << text << "\n";
    any = true;
  };
  for (const CLI::Option* o : app->get_options())
    if (o->get_positional()) {
      heading("arguments:");
      put_entry(out, o->get_name(true), option_doc(*o));
    }
  any = false;
  for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) {
    heading("commands:");
    put_entry(out, sub->get_name(), sub->get_description());
  }
  any = false;
  for (const CLI::Option* o : app->get_options())
    if (!o->get_positional()) {
      heading("options:");
      put_entry(out, option_name(*o), option_doc(*o));
    }
  if (!app->get_footer().empty()) out << "\n" << app->get_footer() << "\n";
  return out.str();
}

}  // namespace lamella::cli
