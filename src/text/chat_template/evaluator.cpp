// Implements chat_template/evaluator.h: statements, macros, scopes.
#include "lamella/text/chat_template/evaluator.h"

#include <algorithm>

#include "lamella/base/text.h"
#include "lamella/text/chat_template/operations.h"

namespace lamella::jinja {
namespace {

using Kind = Value::Kind;

// Sets a variable for a while.
template <class T>
class Restore {
 public:
  Restore(T& place, T value) : place_(place), old_(std::exchange(place, std::move(value))) {}
  ~Restore() { place_ = std::move(old_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& place_;
  T old_;
};

}  // namespace

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->parent_.get()) {
    const auto it = scope->values_.find(name);
    if (it != scope->values_.end()) return &it->second;
  }
  return nullptr;
}

void Scope::collect_names(std::vector<std::string_view>& names) const {
  for (const Scope* scope = this; scope; scope = scope->parent_.get())
    for (const auto& [name, value] : scope->values_) names.push_back(name);
}

// The `loop` variable. A template may keep it, so it outlives its loop.
class Evaluator::Loop final : public Object, public std::enable_shared_from_this<Loop> {
 public:
  Loop(Evaluator& evaluator, const For& statement, const ScopePtr& around, std::vector<Value> items,
       int level, int nesting)
      : evaluator_(evaluator),
        statement_(statement),
        around_(around),
        items_(std::move(items)),
        level_(level),
        nesting_(nesting) {}

  std::string_view type_name() const override { return "LoopContext"; }
  int depth() const override { return nesting_; }
  void move_to(int64_t at) { at_ = at; }
  const std::vector<Value>& items() const { return items_; }

  std::optional<Value> member(Meter&, std::string_view name) override {
    for (const Row& row : kRows)
      if (row.name == name) return row.value(*this);
    return std::nullopt;
  }

  // loop(items) in a recursive loop: the text of the same loop over other items.
  std::optional<Value> call(Meter& meter, const Arguments& arguments) override {
    if (!statement_.recursive) meter.fail("the loop must have the 'recursive' marker to be called");
    if (arguments.positional.size() != 1) meter.fail("loop() wants one argument");
    const ScopePtr around = around_.lock();
    if (!around) meter.fail("the loop has ended; it cannot be called any more");
    std::string text;
    {
      const Restore<ScopePtr> scope(evaluator_.scope_, around);
      const Restore<std::string*> out(evaluator_.out_, &text);
      evaluator_.run_loop(statement_, iterate(meter, arguments.positional[0]), level_ + 1);
    }
    return Value::text(meter, std::move(text));
  }

 private:
  struct Row {
    std::string_view name;
    Value (*value)(Loop&);
  };
  static const Row kRows[13];

  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  Value neighbour(int64_t at, const char* what) const {
    return at >= 0 && at < size() ? items_[static_cast<size_t>(at)] : Value::undefined(what);
  }
  Value cycle() {
    return make_callable(
        "cycle",
        [self = shared_from_this()](Meter& m, const Arguments& a) {
          if (a.positional.empty()) m.fail("loop.cycle() wants at least one item");
          return a.positional[static_cast<size_t>(self->at_) % a.positional.size()];
        },
        nesting_ + 1);
  }
  Value changed() {
    return make_callable(
        "changed",
        [self = shared_from_this()](Meter& m, const Arguments& a) {
          const Value now = make_list(m, a.positional, List::Kind::tuple);
          const bool differs = !self->has_last_ || !equal(m, self->last_, now);
          self->last_ = now;
          self->has_last_ = true;
          self->nesting_ = std::max(self->nesting_, jinja::depth(now) + 1);
          return Value(differs);
        },
        nesting_ + 1);
  }

  Evaluator& evaluator_;
  const For& statement_;
  std::weak_ptr<Scope> around_;
  std::vector<Value> items_;
  int level_;
  int nesting_;
  int64_t at_ = 0;
  Value last_;
  bool has_last_ = false;
};

const Evaluator::Loop::Row Evaluator::Loop::kRows[13] = {
    {"changed", [](Loop& l) { return l.changed(); }},
    {"cycle", [](Loop& l) { return l.cycle(); }},
    {"depth", [](Loop& l) -> Value { return l.level_ + 1; }},
    {"depth0", [](Loop& l) -> Value { return l.level_; }},
    {"first", [](Loop& l) -> Value { return l.at_ == 0; }},
    {"index", [](Loop& l) -> Value { return l.at_ + 1; }},
    {"index0", [](Loop& l) -> Value { return l.at_; }},
    {"last", [](Loop& l) -> Value { return l.at_ + 1 == l.size(); }},
    {"length", [](Loop& l) -> Value { return l.size(); }},
    {"nextitem", [](Loop& l) { return l.neighbour(l.at_ + 1, "there is no next item"); }},
    {"previtem", [](Loop& l) { return l.neighbour(l.at_ - 1, "there is no previous item"); }},
    {"revindex", [](Loop& l) -> Value { return l.size() - l.at_; }},
    {"revindex0", [](Loop& l) -> Value { return l.size() - l.at_ - 1; }},
};

Evaluator::Evaluator(Meter& meter, size_t max_output_bytes, int64_t now)
    : meter_(meter),
      max_output_bytes_(max_output_bytes),
      root_(std::make_shared<Scope>(nullptr)),
      scope_(root_) {
  for (const Builtin& row : functions()) {
    root_->set(row.name,
               make_callable(std::string(row.name), [&row](Meter& m, const Arguments& arguments) {
                 return invoke(m, row, "function", {}, arguments);
               }));
  }
  root_->set("namespace", make_callable("namespace", [this](Meter& m, const Arguments& arguments) {
               m.make(sizeof(Namespace));
               auto space = std::make_shared<Namespace>();
               namespaces_.push_back(space);
               for (const Value& source : arguments.positional) {
                 if (!source.is(Kind::dict)) m.fail("namespace() wants names, or a dict");
                 for (const auto& [key, value] : source.dict().items)
                   if (key.is_string()) space->set_member(key.string(), value);
               }
               for (const auto& [name, value] : arguments.named) space->set_member(name, value);
               return Value(std::static_pointer_cast<Object>(space));
             }));
  root_->set("strftime_now",
             make_callable("strftime_now", [now](Meter& m, const Arguments& arguments) {
               if (arguments.positional.size() != 1 || !arguments.positional[0].is_string())
                 m.fail("strftime_now() wants a format");
               return Value::text(m, format_time(m, arguments.positional[0].string(), now));
             }));
}

Evaluator::~Evaluator() {
  for (const auto& space : namespaces_) space->clear();
}

std::string Evaluator::render(const Block& block) {
  std::string text;
  // A scope of its own: what the template sets hides what it was given.
  const Restore<ScopePtr> scope(scope_, std::make_shared<Scope>(root_));
  const Restore<std::string*> out(out_, &text);
  if (run(block) != Flow::normal) meter_.fail("break or continue outside of a loop");
  return text;
}

Evaluator::Flow Evaluator::run(const Block& block) {
  const Meter::Level level(meter_);
  for (const Statement& statement : block) {
    meter_.line = statement.line;
    meter_.step();
    const Flow flow = std::visit([&](const auto& s) { return execute(s); }, statement.data);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

void Evaluator::write(std::string_view text) {
  meter_.make(text.size());
  if (text.size() > max_output_bytes_ - std::min(out_->size(), max_output_bytes_))
    meter_.fail("its output is too long; got more than ", max_output_bytes_, " bytes");
  *out_ += text;
}

std::string Evaluator::capture(const Block& block) {
  std::string text;
  const Restore<ScopePtr> scope(scope_, std::make_shared<Scope>(scope_));
  const Restore<std::string*> out(out_, &text);
  if (run(block) != Flow::normal) meter_.fail("break or continue outside of a loop");
  return text;
}

Evaluator::Flow Evaluator::execute(const Text& s) {
  write(s.text);
  return Flow::normal;
}

Evaluator::Flow Evaluator::execute(const Output& s) {
  const Value value = evaluate(s.value);
  if (value.is_string()) {
    write(value.string());
  } else {
    write(to_text(meter_, value));
  }
  return Flow::normal;
}

Evaluator::Flow Evaluator::execute(const If& s) {
  for (const auto& [condition, block] : s.branches)
    if (truth(evaluate(condition))) return run(block);
  return run(s.otherwise);
}

Evaluator::Flow Evaluator::execute(const For& s) {
  return run_loop(s, iterate(meter_, evaluate(s.iterable)), 0);
}

std::vector<Value> Evaluator::chosen_items(const For& loop, std::vector<Value> items) {
  if (!loop.condition) return items;
  std::vector<Value> chosen;
  for (Value& item : items) {
    const Restore<ScopePtr> scope(scope_, std::make_shared<Scope>(scope_));
    assign(*loop.target, item);
    if (truth(evaluate(loop.condition))) chosen.push_back(std::move(item));
  }
  return chosen;
}

Evaluator::Flow Evaluator::run_loop(const For& s, std::vector<Value> all, int depth) {
  std::vector<Value> items = chosen_items(s, std::move(all));
  if (items.empty()) return run(s.otherwise);
  const int nesting = jinja::depth(make_list(meter_, items)) + 1;
  const auto loop = std::make_shared<Loop>(*this, s, scope_, std::move(items), depth, nesting);
  const ScopePtr around = scope_;
  for (size_t i = 0; i < loop->items().size(); ++i) {
    meter_.make(sizeof(Scope));
    const Restore<ScopePtr> scope(scope_, std::make_shared<Scope>(around));
    loop->move_to(static_cast<int64_t>(i));
    assign(*s.target, loop->items()[i]);
    scope_->set("loop", std::static_pointer_cast<Object>(loop));
    if (run(s.body) == Flow::breaks) break;
  }
  return Flow::normal;
}

void Evaluator::assign(const Expression& target, const Value& value) {
  meter_.line = target.line;
  if (const auto* name = std::get_if<Name>(&target.data)) {
    scope_->set(name->name, value);
  } else if (const auto* member = std::get_if<Member>(&target.data)) {
    const Value object = evaluate(member->of);
    meter_.make(member->name.size() + sizeof(Value));
    if (!object.is(Kind::object) || !object.object().set_member(member->name, value))
      meter_.fail("cannot assign attribute on non-namespace object; got '",
                  jinja::type_name(object), "' for '", member->name, "'");
  } else if (const auto* tuple = std::get_if<ListDisplay>(&target.data)) {
    const std::vector<Value> values = iterate(meter_, value);
    if (values.size() != tuple->items.size())
      meter_.fail("wrong number of values to unpack; got ", values.size(), "; want ",
                  tuple->items.size());
    for (size_t i = 0; i < values.size(); ++i) assign(*tuple->items[i], values[i]);
  }
}

Evaluator::Flow Evaluator::execute(const Set& s) {
  assign(*s.target, evaluate(s.value));
  return Flow::normal;
}

Evaluator::Flow Evaluator::execute(const SetBlock& s) {
  Value value = Value::text(meter_, capture(s.body));
  if (s.filter) value = apply_filters(*s.filter, value);
  assign(*s.target, value);
  return Flow::normal;
}

Evaluator::Flow Evaluator::execute(const FilterBlock& s) {
  const Value text = Value::text(meter_, capture(s.body));
  write(to_text(meter_, apply_filters(*s.filter, text)));
  return Flow::normal;
}

Value Evaluator::apply_filters(const Expression& chain, const Value& text) {
  const Restore<const Value*> input(filter_input_, &text);
  return evaluate(chain);
}

Evaluator::Flow Evaluator::execute(const With& s) {
  const auto inner = std::make_shared<Scope>(scope_);
  std::vector<Value> values;
  for (const auto& [target, value] : s.variables) values.push_back(evaluate(value));
  const Restore<ScopePtr> scope(scope_, inner);
  for (size_t i = 0; i < values.size(); ++i) assign(*s.variables[i].first, values[i]);
  return run(s.body);
}

Evaluator::Flow Evaluator::execute(const MacroDefinition& s) {
  scope_->set(s.name, macro(s));
  return Flow::normal;
}

Evaluator::Flow Evaluator::execute(const CallBlock& s) {
  const Value caller = macro(s.caller);
  write(to_text(meter_, call_with(std::get<CallExpression>(s.call->data), &caller)));
  return Flow::normal;
}

// The scope holds the macro, so the macro must not hold the scope.
Value Evaluator::macro(const MacroDefinition& definition) {
  meter_.make(sizeof(Callable));
  return make_callable(definition.name, [this, &definition, closure = std::weak_ptr<Scope>(scope_)](
                                            Meter&, const Arguments& arguments) {
    const ScopePtr scope = closure.lock();
    return call_macro(definition, scope ? scope : root_, arguments);
  });
}

Value Evaluator::call_macro(const MacroDefinition& definition, const ScopePtr& closure,
                            const Arguments& arguments) {
  std::string text;
  {
    const Restore<ScopePtr> scope(scope_, std::make_shared<Scope>(closure));
    const Restore<std::string*> out(out_, &text);
    bind_parameters(definition, arguments);
    bind_rest(definition, arguments);
    if (run(definition.body) != Flow::normal) meter_.fail("break or continue outside of a loop");
  }
  return Value::text(meter_, std::move(text));
}

void Evaluator::bind_parameters(const MacroDefinition& definition, const Arguments& arguments) {
  const std::vector<std::string>& names = definition.parameters;
  const size_t n_required = names.size() - definition.defaults.size();
  for (size_t i = 0; i < names.size(); ++i) {
    const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const auto& a) { return a.first == names[i]; });
    const bool is_named = named != arguments.named.end();
    if (i < arguments.positional.size()) {
      if (is_named)
        meter_.fail("macro '", definition.name, "': got two values for '", names[i], "'");
      scope_->set(names[i], arguments.positional[i]);
    } else if (is_named) {
      scope_->set(names[i], named->second);
    } else if (i >= n_required) {
      scope_->set(names[i], evaluate(definition.defaults[i - n_required]));
    } else {
      scope_->set(names[i], Value::undefined(str("parameter '", names[i], "' was not provided")));
    }
  }
}

void Evaluator::bind_rest(const MacroDefinition& definition, const Arguments& arguments) {
  const std::vector<std::string>& names = definition.parameters;
  std::vector<Value> extra;
  for (size_t i = names.size(); i < arguments.positional.size(); ++i)
    extra.push_back(arguments.positional[i]);
  if (!extra.empty() && !definition.takes_varargs)
    meter_.fail("macro '", definition.name, "' takes not more than ", names.size(),
                " argument(s); got ", arguments.positional.size());
  scope_->set("varargs", make_list(meter_, std::move(extra), List::Kind::tuple));
  std::vector<std::pair<Value, Value>> unknown;
  std::vector<std::string_view> known(names.begin(), names.end());
  for (const auto& [name, value] : arguments.named) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (name == "caller") {
      scope_->set("caller", value);
    } else if (definition.takes_kwargs) {
      unknown.emplace_back(Value::text(meter_, name), value);
    } else {
      meter_.fail("macro '", definition.name, "' takes no keyword argument '", printable(name, 60),
                  "'", did_you_mean(name, known));
    }
  }
  scope_->set("kwargs", make_dict(meter_, std::move(unknown)));
}

}  // namespace lamella::jinja
