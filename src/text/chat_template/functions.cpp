// The functions that templates can call.
#include <algorithm>
#include <cmath>
#include <ctime>

#include "lamella/base/text.h"
#include "lamella/text/chat_template/builtins.h"
#include "lamella/text/chat_template/operations.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

constexpr int64_t kMaxRange = 100000;  // as in the sandbox that templates are written for

Value range(Call& c) {
  int64_t start = 0, stop = c.integer(0, 0);
  if (c.has(1)) {
    start = stop;
    stop = c.integer(1, 0);
  }
  const int64_t step = c.integer(2, 1);
  if (step == 0) c.meter.fail("range() arg 3 must not be zero");
  // In floating point, so that far bounds cannot overflow.
  const double count =
      (static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step);
  if (count > static_cast<double>(kMaxRange))
    c.meter.fail("range is too long; got about ", count, " items; want at most ", kMaxRange);
  std::vector<Value> items;
  const auto n = static_cast<int64_t>(std::ceil(std::max(count, 0.0)));
  for (int64_t i = 0; i < n; ++i) {
    // In unsigned arithmetic, which may wrap on the way.
    const uint64_t offset = static_cast<uint64_t>(i) * static_cast<uint64_t>(step);
    items.emplace_back(static_cast<int64_t>(static_cast<uint64_t>(start) + offset));
  }
  return make_list(c.meter, std::move(items));
}

std::vector<std::pair<Value, Value>> named_items(Call& c) {
  std::vector<std::pair<Value, Value>> items;
  for (const Value& source : c.rest.positional) {
    if (source.is(Kind::dict)) {
      for (const auto& item : source.dict().items) items.push_back(item);
      continue;
    }
    for (const Value& pair : iterate(c.meter, source)) {
      const std::vector<Value> two = iterate(c.meter, pair);
      if (two.size() != 2) c.meter.fail("dict() wants pairs; got ", two.size(), " items");
      items.emplace_back(two[0], two[1]);
    }
  }
  for (const auto& [name, value] : c.rest.named)
    items.emplace_back(Value::text(c.meter, name), value);
  return items;
}

Value dict(Call& c) { return make_dict(c.meter, named_items(c)); }

Value raise_exception(Call& c) {
  const std::string message = c.has(0) ? to_text(c.meter, c.at(0)) : "";
  c.meter.fail("the template refuses this conversation: ", printable(message, 400));
}

// Gives its arguments in turn, for ever.
class Cycler final : public Object, public std::enable_shared_from_this<Cycler> {
 public:
  explicit Cycler(std::vector<Value> items, int depth) : items_(std::move(items)), depth_(depth) {}
  std::string_view type_name() const override { return "Cycler"; }
  int depth() const override { return depth_; }
  std::optional<Value> member(Meter&, std::string_view name) override {
    if (name == "current") return items_[at_];
    if (name != "next" && name != "reset") return std::nullopt;
    const bool next = name == "next";
    const auto turn = [self = shared_from_this(), next](Meter&, const Arguments&) -> Value {
      const Value value = self->items_[self->at_];
      self->at_ = next ? (self->at_ + 1) % self->items_.size() : 0;
      return next ? value : Value(None{});
    };
    return make_callable(std::string(name), turn, depth_ + 1);
  }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
  int depth_;
};

// Nothing on the first call, then always its separator.
class Joiner final : public Object {
 public:
  Joiner(Value separator, int depth) : separator_(std::move(separator)), depth_(depth) {}
  std::string_view type_name() const override { return "Joiner"; }
  int depth() const override { return depth_; }
  std::optional<Value> member(Meter&, std::string_view) override { return std::nullopt; }
  std::optional<Value> call(Meter&, const Arguments&) override {
    return std::exchange(used_, true) ? separator_ : Value::constant("");
  }

 private:
  Value separator_;
  int depth_;
  bool used_ = false;
};

Value cycler(Call& c) {
  if (c.rest.positional.empty()) c.meter.fail("cycler() wants at least one item");
  const Value list = make_list(c.meter, c.rest.positional);
  return std::static_pointer_cast<Object>(
      std::make_shared<Cycler>(c.rest.positional, depth(list) + 1));
}

Value joiner(Call& c) {
  const Value separator = c.value(0, Value::constant(", "));
  const int inner = depth(make_list(c.meter, {separator}));  // refuses endless nesting
  return std::static_pointer_cast<Object>(std::make_shared<Joiner>(separator, inner + 1));
}

constexpr Builtin kFunctions[] = {
    {"cycler", "*", cycler},
    {"dict", "*", dict},
    {"joiner", "sep?", joiner},
    {"raise_exception", "message?", raise_exception},
    {"range", "start stop? step?", range},
};

}  // namespace

std::span<const Builtin> functions() { return kFunctions; }

std::optional<Value> Namespace::member(Meter& meter, std::string_view name) {
  meter.scan(members_.size() * 8);
  for (const auto& [key, value] : members_)
    if (key == name) return value;
  return std::nullopt;
}

bool Namespace::set_member(std::string_view name, const Value& value) {
  for (auto& [key, old] : members_) {
    if (key != name) continue;
    old = value;
    return true;
  }
  members_.emplace_back(std::string(name), value);
  return true;
}

std::string format_time(const Meter& meter, const std::string& form, int64_t seconds) {
  static constexpr std::string_view kLetters = "aAbBcdHIjmMpSuUwVWxXyYZGzFTDRehnt%";
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%') continue;
    if (i + 1 < form.size() && form[i + 1] == '-') ++i;  // "%-d": without the zero
    if (i + 1 >= form.size() || kLetters.find(form[i + 1]) == kLetters.npos)
      meter.fail("strftime_now: unknown directive; got '", printable(form.substr(i), 10),
                 "'; want one of %", kLetters);
    ++i;
  }
  if (form.size() > 1000) meter.fail("strftime_now: the format is too long");
  const auto when = static_cast<std::time_t>(seconds);
  std::tm local{};
  localtime_r(&when, &local);
  std::string text(form.size() * 40 + 64, '\0');
  text.resize(std::strftime(text.data(), text.size(), form.c_str(), &local));
  return text;
}

}  // namespace lamella::jinja
