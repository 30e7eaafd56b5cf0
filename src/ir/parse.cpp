#include "lamella/ir/parse.h"

#include <algorithm>
#include <unordered_map>

#include "lamella/base/text.h"
#include "lamella/ir/text_reader.h"

namespace lamella {
namespace {

// A node as it is written, before it is built.
struct NodeText {
  std::string_view label;
  std::optional<int64_t> n_outputs;
  const Op* op = nullptr;
  bool save = false;
  Values inputs;
  std::shared_ptr<void> attrs;
  std::vector<Dim> fresh;
  std::vector<Type> types;  // empty where they are left out
  bool has_types = false;
  std::string origin;
};

class Parser {
 public:
  Parser(std::string_view text, const OpSet& ops) : in_(text) {
    for (const Op* o : ops.ops()) ops_.emplace(o->info.name, o);
  }

  Graph parse() {
    Graph g = graph(nullptr, 0);
    if (!in_.at_end()) in_.fail("text behind the graph", "the end");
    return g;
  }

 private:
  using Labels = std::unordered_map<std::string_view, uint32_t>;

  // A graph from the word `graph` to its '}'. Sub-graphs share their parent's symbols.
  Graph graph(const Graph* parent, int depth) {
    if (depth > TextReader::kMaxDepth)
      in_.fail("graphs nested too deep", str("at most ", TextReader::kMaxDepth));
    if (!in_.accept_word("graph")) in_.fail("cannot read this", "'graph name {'");
    const std::string name = in_.name_or_string("a name of the graph");
    Graph g = parent ? parent->sub_graph(name) : Graph(name);
    Labels labels;
    in_.expect('{');
    while (!in_.accept('}')) {
      in_.peek();
      const size_t start = in_.at();
      try {
        statement(g, labels, depth);
      } catch (const TextError&) {
        throw;
      } catch (const UserError& e) {
        in_.fail_at(start, e.what());
      }
    }
    return g;
  }

  void statement(Graph& g, Labels& labels, int depth) {
    if (in_.peek() == '%') {
      build(g, labels, node(g, labels, depth));
    } else if (in_.accept_word("symbol")) {
      symbol(g);
    } else if (in_.accept_word("return")) {
      do {
        std::string name = in_.name_or_string("a name of an output");
        in_.expect('=');
        g.output(std::move(name), reference(g, labels));
      } while (in_.accept(','));
    } else if (in_.accept_word("state")) {
      state(g, labels);
    } else {
      in_.fail("cannot read this", "'%name = op', symbol, return, state or '}'");
    }
  }

  void symbol(Graph& g) {
    const std::string name = in_.name_or_string("a name of a symbol");
    DimRange range;
    int64_t divisor = 1;
    if (in_.accept_word("in")) {
      in_.expect('[');
      range.low = in_.integer();
      in_.expect(',');
      if (!in_.accept('*')) range.high = in_.integer();
      in_.expect(']');
    }
    // A '%' with a name right behind it begins the next node.
    if (in_.peek() == '%' && in_.peek_second() == ' ') {
      in_.expect('%');
      divisor = in_.integer();
    }
    g.symbol(name, range, divisor);
  }

  void state(Graph& g, const Labels& labels) {
    const std::string name = in_.name_or_string("a name of a state");
    in_.expect('=');
    const Value before = reference(g, labels);
    in_.expect_arrow();
    const Value next = reference(g, labels);
    const Node& declared = g.node(before.id);
    const bool is_state = declared.is(op<Input>) &&
                          declared.attrs.as<Input::Attrs>().role == InputRole::state &&
                          declared.attrs.as<Input::Attrs>().name == name;
    if (!is_state) refuse("no such state", name, "an input of role state of that name");
    g.set_state(name, next);
  }

  // An error of the whole statement, whose line the caller adds.
  [[noreturn]] static void refuse(std::string_view what, std::string_view got,
                                  std::string_view want) {
    throw UserError(str(what, "; got '", printable(got, 60), "'; want ", want));
  }

  Value reference(Graph& g, const Labels& labels) {
    if (in_.peek() != '%') in_.fail("cannot read this", "a value as %3");
    const size_t start = in_.at();
    const std::string_view label = in_.label();
    const auto found = labels.find(label);
    if (found == labels.end())
      in_.fail_at(start, str("no value of this name; got '%", printable(label, 40),
                             "'; want one that stands before"));
    int64_t out = 0;
    if (in_.peek() == '.') {
      in_.expect('.');
      out = in_.integer();
    }
    const auto n = static_cast<int64_t>(g.nodes()[found->second].outputs.size());
    if (out < 0 || out >= n)
      in_.fail_at(start, str("no such output; got %", label, ".", out, "; want less than ", n));
    return g.value({found->second, static_cast<uint32_t>(out)});
  }

  NodeText node(Graph& g, const Labels& labels, int depth) {
    NodeText n;
    n.label = in_.label();
    if (labels.count(n.label)) in_.fail("a second value of this name", n.label, "another name");
    if (in_.accept(':')) n.n_outputs = in_.integer();
    in_.expect('=');
    std::string_view name = in_.name("an op");
    if (name == "save" && in_.at_name()) {
      n.save = true;
      name = in_.name("an op");
    }
    n.op = find_op(name);
    if (in_.peek() == '(')
      in_.list('(', ')',
               [&] { n.inputs.push_back(in_.accept_word("_") ? Value{} : reference(g, labels)); });
    n.attrs = attributes(g, *n.op, depth);
    if (in_.accept_word("new"))
      in_.list('[', ']',
               [&] { n.fresh.push_back(g.symbol(in_.name_or_string("a name of a symbol"))); });
    if (in_.accept(':')) {
      n.has_types = true;
      const auto put = [&] { n.types.push_back(in_.type(*g.dims())); };
      if (in_.peek() == '(')
        in_.list('(', ')', put);
      else
        put();
    }
    if (in_.accept('@')) n.origin = in_.string();
    return n;
  }

  const Op* find_op(std::string_view name) {
    const auto found = ops_.find(name);
    if (found != ops_.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& [known, _] : ops_) names.push_back(known);
    std::sort(names.begin(), names.end());
    in_.fail("unknown op", name, "an op's name" + did_you_mean(name, names));
  }

  std::shared_ptr<void> attributes(Graph& g, const Op& op, int depth) {
    std::shared_ptr<void> attrs = op.attrs->make();
    if (in_.peek() != '{') return attrs;
    const std::vector<Field> fields = op.attrs->fields(attrs.get());
    std::vector<bool> is_set(fields.size(), false);
    in_.list('{', '}', [&] {
      const std::string_view name = in_.name("a name of an attribute");
      size_t i = 0;
      while (i < fields.size() && fields[i].name != name) ++i;
      if (i == fields.size()) {
        std::vector<std::string_view> names;
        for (const Field& f : fields) names.push_back(f.name);
        in_.fail(
            "unknown attribute", name,
            str("one of ", op.info.name, "'s: ", join(names, ", "), did_you_mean(name, names)));
      }
      if (is_set[i]) in_.fail("an attribute given twice", name, "one value");
      is_set[i] = true;
      in_.expect('=');
      std::visit([&](auto value) { read(g, depth, value); }, fields[i].value);
    });
    return attrs;
  }

  void read(Graph&, int, bool* x) {
    *x = in_.accept_word("true");
    if (!*x && !in_.accept_word("false")) in_.fail("cannot read this", "true or false");
  }
  void read(Graph&, int, int64_t* x) { *x = in_.integer(); }
  void read(Graph&, int, double* x) { *x = in_.real(); }
  void read(Graph&, int, std::string* x) { *x = in_.string(); }
  void read(Graph&, int, DType* x) { *x = in_.dtype(); }
  void read(Graph& g, int, Dim* x) { *x = in_.dim(*g.dims()); }
  void read(Graph& g, int, Shape* x) { *x = in_.shape(*g.dims()); }
  void read(Graph& g, int, Type* x) { *x = in_.type(*g.dims()); }
  void read(Graph&, int, Tensor* x) {
    if (in_.accept_word("none"))
      *x = Tensor();
    else
      *x = in_.tensor();
  }
  void read(Graph& g, int depth, GraphPtr* x) {
    if (in_.accept_word("none"))
      *x = nullptr;
    else
      *x = std::make_shared<const Graph>(graph(&g, depth + 1));
  }
  void read(Graph&, int, EnumField x) {
    const std::span<const std::string_view> names(x.names, x.n_names);
    const std::string_view name = in_.name(join(names, ", "));
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      in_.fail("unknown value", name, join(names, ", ") + did_you_mean(name, names));
    *static_cast<int*>(x.value) = static_cast<int>(found - names.begin());
  }
  template <class T>
  void read(Graph& g, int depth, std::vector<T>* x) {
    x->clear();
    in_.list('[', ']', [&] {
      T value{};
      read(g, depth, &value);
      x->push_back(std::move(value));
    });
  }
  template <class T>
  void read(Graph& g, int depth, std::optional<T>* x) {
    x->reset();
    if (!in_.accept_word("none")) read(g, depth, &x->emplace());
  }

  void build(Graph& g, Labels& labels, NodeText n) {
    if (!last_origin_ || *last_origin_ != n.origin)
      last_origin_ = std::make_shared<const std::string>(std::move(n.origin));
    const auto scope = g.origin(last_origin_->empty() ? nullptr : last_origin_);
    const auto index = static_cast<uint32_t>(g.nodes().size());
    append(g, n);
    const Node& made = g.nodes()[index];
    if (n.n_outputs && *n.n_outputs != static_cast<int64_t>(made.outputs.size()))
      refuse("wrong number of outputs", str(*n.n_outputs), str(made.outputs.size()));
    if (made.fresh.size() < n.fresh.size())
      refuse("too many new symbols", str(n.fresh.size()), str(made.fresh.size()));
    if (n.has_types && n.types != made.outputs)
      refuse(str("%", n.label, ": types are not what ", n.op->info.name, " gives"),
             join(n.types, ", "), join(made.outputs, ", "));
    labels.emplace(n.label, index);
  }

  // Inputs, states and parameters are declared; every other node is added.
  void append(Graph& g, const NodeText& n) {
    const AttrBox attrs(*n.op->attrs, n.attrs);
    const bool is_input = n.op == &op<Input>, is_parameter = n.op == &op<Parameter>;
    if (!is_input && !is_parameter) {
      g.add(*n.op, n.inputs, attrs, n.save, n.fresh);
      return;
    }
    if (!n.inputs.empty() || n.save || !n.fresh.empty())
      refuse("takes no inputs and makes nothing new", n.op->info.name, "attributes only");
    const size_t n_nodes = g.nodes().size();
    if (is_input) {
      const auto& a = attrs.as<Input::Attrs>();
      if (a.role == InputRole::state)
        g.state(a.name, a.type);
      else
        g.input(a.name, a.type);
    } else {
      const auto& a = attrs.as<Parameter::Attrs>();
      g.parameter(a.name, a.type);
      if (g.nodes().size() == n_nodes) refuse("a parameter declared twice", a.name, "another name");
    }
  }

  TextReader in_;
  std::unordered_map<std::string_view, const Op*> ops_;
  std::shared_ptr<const std::string> last_origin_;
};

}  // namespace

Graph parse_graph(std::string_view text, const OpSet& ops) { return Parser(text, ops).parse(); }

}  // namespace lamella
