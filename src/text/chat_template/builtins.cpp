// Argument binding and look-up of chat_template/builtins.h.
#include "lamella/text/chat_template/builtins.h"

#include "lamella/base/text.h"
#include "lamella/text/chat_template/operations.h"

namespace lamella::jinja {
namespace {

struct Parameter {
  std::string_view name;
  bool optional = false;
};

struct Parameters {
  std::vector<Parameter> list;
  bool open = false;  // "*": further arguments are kept
};

Parameters parse_parameters(std::string_view text) {
  Parameters out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (name == "*") {
      out.open = true;
      continue;
    }
    const bool optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    out.list.push_back({name, optional});
  }
  return out;
}

void bind_named(Meter& meter, const Parameters& parameters, std::string_view where,
                const std::pair<std::string, Value>& argument, Call& call) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < parameters.list.size(); ++i) {
    names.push_back(parameters.list[i].name);
    if (names.back() != argument.first) continue;
    if (call.bound[i]) meter.fail(where, ": got two values for '", argument.first, "'; want one");
    call.bound[i] = argument.second;
    return;
  }
  if (!parameters.open)
    meter.fail(where, ": no such parameter; got '", printable(argument.first, 60), "'; want ",
               names.empty() ? "none" : join(names, ", "), did_you_mean(argument.first, names));
  call.rest.named.push_back(argument);
}

const Builtin& find_row(const Meter& meter, std::span<const Builtin> rows, std::string_view kind,
                        std::string_view name) {
  std::vector<std::string_view> names;
  for (const Builtin& row : rows) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  meter.fail("unknown ", kind, "; got '", printable(name, 60), "'; want one that Jinja has",
             did_you_mean(name, names));
}

}  // namespace

int64_t Call::integer(size_t i, int64_t otherwise) const {
  if (!has(i) || at(i).is_none()) return otherwise;
  if (!at(i).is_integer())
    meter.fail("'", name, "' wants an integer; got '", jinja::type_name(at(i)), "'");
  return at(i).integer();
}

bool Call::truth(size_t i, bool otherwise) const {
  return has(i) ? jinja::truth(at(i)) : otherwise;
}

const std::string& Call::text(size_t i) const {
  if (!has(i) || !at(i).is_string())
    meter.fail("'", name, "' wants a string; got '", has(i) ? jinja::type_name(at(i)) : "nothing",
               "'");
  return at(i).string();
}

std::string Call::text(size_t i, const std::string& otherwise) const {
  return has(i) && !at(i).is_none() ? text(i) : otherwise;
}

std::string Call::self_text() const { return to_text(meter, self); }

Value invoke(Meter& meter, const Builtin& row, std::string_view kind, const Value& self,
             const Arguments& arguments) {
  meter.step();
  Call call(meter, row.name, self);
  const Parameters parameters = parse_parameters(row.parameters);
  call.bound.resize(parameters.list.size());
  const std::string where = str(kind, " '", row.name, "'");
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < call.bound.size()) {
      call.bound[i] = arguments.positional[i];
    } else if (parameters.open) {
      call.rest.positional.push_back(arguments.positional[i]);
    } else {
      meter.fail(where, ": too many arguments; got ", arguments.positional.size(),
                 "; want at most ", call.bound.size());
    }
  }
  for (const auto& argument : arguments.named) bind_named(meter, parameters, where, argument, call);
  for (size_t i = 0; i < call.bound.size(); ++i)
    if (!call.bound[i] && !parameters.list[i].optional)
      meter.fail(where, ": argument '", parameters.list[i].name, "' is missing");
  return row.function(call);
}

const Builtin& find_filter(const Meter& meter, std::string_view name) {
  return find_row(meter, filters(), "filter", name);
}

const Builtin& find_test(const Meter& meter, std::string_view name) {
  return find_row(meter, tests(), "test", name);
}

}  // namespace lamella::jinja
