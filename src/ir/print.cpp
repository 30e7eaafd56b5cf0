#include "lamella/ir/print.h"

#include "lamella/base/text.h"
#include "lamella/ir/tensor_text.h"

namespace lamella {
namespace {

std::string name_text(std::string_view name) {
  return is_name(name) ? std::string(name) : quoted(name);
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  void graph(const Graph& g, bool is_outermost) {
    out_ += "graph " + name_text(g.name()) + " {\n";
    ++depth_;
    if (is_outermost) symbols(g);
    for (uint32_t i = 0; i < g.nodes().size(); ++i) {
      indent();
      node(g, i);
      out_ += '\n';
    }
    results(g);
    --depth_;
    indent();
    out_ += '}';
  }

  void node(const Graph& g, uint32_t index) {
    const Node& n = g.nodes()[index];
    out_ += '%' + std::to_string(index);
    if (n.outputs.size() != 1) out_ += ':' + std::to_string(n.outputs.size());
    out_ += n.n_saved > 0 ? " = save " : " = ";
    out_ += n.op->info.name;
    if (!n.inputs.empty()) {
      out_ += '(';
      list(n.inputs, [&](ValueId id) { reference(g, id); });
      out_ += ')';
    }
    attributes(n.attrs);
    if (!n.fresh.empty()) {
      out_ += " new [";
      list(n.fresh, [&](Dim d) { out_ += d.text(); });
      out_ += ']';
    }
    if (options_.types && !n.op->has(kStructural)) {
      out_ += n.outputs.size() == 1 ? " : " : " : (";
      list(n.outputs, [&](const Type& t) { out_ += t.text(); });
      if (n.outputs.size() != 1) out_ += ')';
    }
    if (options_.origins && n.origin && !n.origin->empty()) out_ += " @" + quoted(*n.origin);
  }

  std::string take() { return std::move(out_); }

 private:
  void indent() { out_.append(2 * depth_, ' '); }

  template <class Range, class Put>
  void list(const Range& range, Put put) {
    bool is_first = true;
    for (const auto& x : range) {
      if (!is_first) out_ += ", ";
      is_first = false;
      put(x);
    }
  }

  // Only those that carry facts: the others come to be where they are first named.
  void symbols(const Graph& g) {
    SymbolsUsed used;
    add_symbols(g, used);
    for (const DimExpr* s : used.symbols()) {
      if (s->range == DimRange{} && s->divisor == 1) continue;
      indent();
      out_ += "symbol " + name_text(s->name);
      if (s->range != DimRange{}) {
        const bool is_bounded = s->range.high != DimRange{}.high;
        out_ += " in [" + std::to_string(s->range.low) + ", ";
        out_ += (is_bounded ? std::to_string(s->range.high) : "*") + "]";
      }
      if (s->divisor != 1) out_ += " % " + std::to_string(s->divisor);
      out_ += '\n';
    }
  }

  void results(const Graph& g) {
    if (!g.outputs().empty()) {
      indent();
      out_ += "return ";
      list(g.outputs(), [&](const NamedValue& o) {
        out_ += name_text(o.name) + '=';
        reference(g, o.id);
      });
      out_ += '\n';
    }
    for (const StateSlot& s : g.states()) {
      indent();
      out_ += "state " + name_text(s.name) + '=';
      reference(g, s.in);
      out_ += " -> ";
      reference(g, s.out);
      out_ += '\n';
    }
  }

  void reference(const Graph& g, ValueId id) {
    if (id.absent()) {
      out_ += '_';
      return;
    }
    out_ += '%' + std::to_string(id.node);
    // A graph that is being looked into because it is broken prints too.
    const bool is_single = id.node < g.nodes().size() && g.nodes()[id.node].outputs.size() == 1;
    if (!is_single || id.out != 0) out_ += '.' + std::to_string(id.out);
  }

  void attributes(const AttrBox& attrs) {
    const AttrBox defaults(attrs.info(), attrs.info().make());
    const std::vector<Field> fields = attrs.fields(), initial = defaults.fields();
    bool is_first = true;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (same_value(fields[i].value, initial[i].value)) continue;
      out_ += is_first ? " {" : ", ";
      is_first = false;
      out_ += std::string(fields[i].name) + '=';
      std::visit([&](auto value) { put(value); }, fields[i].value);
    }
    if (!is_first) out_ += '}';
  }

  void put(bool* x) { out_ += *x ? "true" : "false"; }
  void put(int64_t* x) { out_ += std::to_string(*x); }
  void put(double* x) { out_ += exact_text(*x); }
  void put(std::string* x) { out_ += quoted(*x); }
  void put(DType* x) { out_ += x->name(); }
  void put(Dim* x) { out_ += x->text(); }
  void put(Shape* x) { out_ += x->text(); }
  void put(Type* x) { out_ += x->text(); }
  void put(EnumField x) {
    const auto i = static_cast<size_t>(*static_cast<int*>(x.value));
    out_ += i < x.n_names ? x.names[i] : "?";
  }
  void put(Tensor* x) {
    if (x->empty_handle()) {
      out_ += "none";
      return;
    }
    out_ += x->dtype().name();
    out_ += '[';
    list(x->shape(), [&](int64_t d) { out_ += std::to_string(d); });
    out_ += "] ";
    out_ += x->bytes() <= options_.max_constant_bytes ? elements_text(*x) : "...";
  }
  void put(GraphPtr* x) {
    if (*x)
      graph(**x, false);
    else
      out_ += "none";
  }
  template <class T>
  void put(std::vector<T>* x) {
    out_ += '[';
    list(*x, [&](T value) { put(&value); });
    out_ += ']';
  }
  template <class T>
  void put(std::optional<T>* x) {
    if (*x)
      put(&**x);
    else
      out_ += "none";
  }

  const PrintOptions& options_;
  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  Printer printer(options);
  printer.graph(graph, true);
  return printer.take() + "\n";
}

std::string print_node(const Graph& graph, uint32_t node, const PrintOptions& options) {
  Printer printer(options);
  printer.node(graph, node);
  return printer.take();
}

}  // namespace lamella
