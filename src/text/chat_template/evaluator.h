// Runs a template's tree.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lamella/text/chat_template/ast.h"
#include "lamella/text/chat_template/builtins.h"

namespace lamella::jinja {

// The variables of one stretch of a template; those around it are in `parent`.
class Scope {
 public:
  explicit Scope(std::shared_ptr<Scope> parent) : parent_(std::move(parent)) {}

  // The names must outlive the scope; they belong to the tree, or are literals.
  void set(std::string_view name, Value value) { values_[name] = std::move(value); }
  const Value* find(std::string_view name) const;
  const Scope* parent() const { return parent_.get(); }
  // Adds the names of this scope and those around it.
  void collect_names(std::vector<std::string_view>& names) const;

 private:
  std::shared_ptr<Scope> parent_;
  std::unordered_map<std::string_view, Value> values_;
};

class Evaluator {
 public:
  // What strftime_now sees: seconds since 1970.
  Evaluator(Meter& meter, size_t max_output_bytes, int64_t now);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // A variable that the template sees; `name` must outlive the evaluator.
  void set_global(std::string_view name, Value value) { root_->set(name, std::move(value)); }

  // The text that the template gives. Once.
  std::string render(const Block& block);

 private:
  enum class Flow { normal, breaks, continues };
  using ScopePtr = std::shared_ptr<Scope>;
  class Loop;

  Flow run(const Block& block);
  Flow execute(const Text& s);
  Flow execute(const Output& s);
  Flow execute(const If& s);
  Flow execute(const For& s);
  Flow execute(const Set& s);
  Flow execute(const SetBlock& s);
  Flow execute(const MacroDefinition& s);
  Flow execute(const CallBlock& s);
  Flow execute(const FilterBlock& s);
  Flow execute(const With& s);
  Flow execute(const Break&) { return Flow::breaks; }
  Flow execute(const Continue&) { return Flow::continues; }
  Flow execute(const Group& s) { return run(s.body); }

  Flow run_loop(const For& loop, std::vector<Value> items, int depth);
  std::vector<Value> chosen_items(const For& loop, std::vector<Value> items);
  // The text that `block` gives, in a scope of its own.
  std::string capture(const Block& block);
  void write(std::string_view text);
  void assign(const Expression& target, const Value& value);

  Value macro(const MacroDefinition& definition);
  Value call_macro(const MacroDefinition& definition, const ScopePtr& closure,
                   const Arguments& arguments);
  void bind_parameters(const MacroDefinition& definition, const Arguments& arguments);
  void bind_rest(const MacroDefinition& definition, const Arguments& arguments);

  Value evaluate(const Expression& e);
  Value evaluate(const ExpressionPtr& e) { return evaluate(*e); }
  Value compute(const Literal& e) { return e.value; }
  Value compute(const Name& e);
  Value compute(const ListDisplay& e);
  Value compute(const DictDisplay& e);
  Value compute(const Member& e);
  Value compute(const Item& e);
  Value compute(const Slice& e);
  Value compute(const CallExpression& e) { return call_with(e, nullptr); }
  Value compute(const Filter& e);
  Value compute(const Test& e);
  Value compute(const Unary& e);
  Value compute(const Arithmetic& e);
  Value compute(const Comparison& e);
  Value compute(const Logic& e);
  Value compute(const Concatenation& e);
  Value compute(const Conditional& e);

  Value call_with(const CallExpression& e, const Value* caller);
  Value apply_filters(const Expression& chain, const Value& text);
  Arguments arguments_of(const ArgumentList& list);
  std::optional<int64_t> slice_bound(const ExpressionPtr& e);

  Meter& meter_;
  size_t max_output_bytes_;
  ScopePtr root_, scope_;
  std::string* out_ = nullptr;
  // All of them, so that those which hold each other are freed, and none recursively.
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  const Value* filter_input_ = nullptr;  // what a filter without an operand is applied to
};

}  // namespace lamella::jinja
