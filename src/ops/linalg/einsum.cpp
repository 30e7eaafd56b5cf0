#include "lamella/ops/linalg/einsum.h"

#include <algorithm>
#include <map>

#include "lamella/ops/linalg/dot_general.h"
#include "lamella/ops/reduce/sum.h"
#include "lamella/ops/shape/diagonal.h"
#include "lamella/ops/shape/expand.h"
#include "lamella/ops/shape/reshape.h"
#include "lamella/ops/shape/transpose.h"

namespace lamella {
namespace {

// Axes are named by letters; those of "..." by the numbers 0, 1, ... of the widest operand, aligned
// at the end.
using Label = char;
using Labels = std::string;
constexpr std::string_view kEllipsis = "...";
constexpr size_t kMaxEllipsis = 16;

struct Term {
  Labels before, after;  // letters on either side of "..."
  bool has_ellipsis = false;
};

Term parse_term(std::string_view text) {
  Term t;
  while (!text.empty()) {
    if (text.substr(0, 3) == kEllipsis) {
      CHECK_USER(!t.has_ellipsis, "einsum: '...' twice in one term");
      t.has_ellipsis = true;
      text.remove_prefix(3);
      continue;
    }
    const char c = text.front();
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    CHECK_USER(is_letter || c == ' ', "einsum: no letter in the equation; got '", c, "'");
    if (is_letter) (t.has_ellipsis ? t.after : t.before) += c;
    text.remove_prefix(1);
  }
  return t;
}

struct Equation {
  std::vector<Term> operands;
  std::optional<Term> result;
};

Equation parse(std::string_view text) {
  Equation e;
  const size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  for (size_t comma = 0; comma != std::string_view::npos;) {
    comma = left.find(',');
    e.operands.push_back(parse_term(left.substr(0, comma)));
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  if (arrow != std::string_view::npos) e.result = parse_term(text.substr(arrow + 2));
  return e;
}

// Labels of each operand's axes and of the result's, and the size of each label.
struct Plan {
  std::vector<Labels> operands;
  Labels result;
  std::map<Label, Dim> sizes;
};

Labels spelled(const Term& t, size_t n_ellipsis, size_t widest) {
  Labels out = t.before;
  for (size_t i = 0; i < n_ellipsis; ++i) out += static_cast<Label>(widest - n_ellipsis + i);
  return out + t.after;
}

// `join` makes one size of two under one label.
template <class Join>
Plan plan_of(const Equation& e, const std::vector<Shape>& shapes, Join join) {
  CHECK_USER(e.operands.size() == shapes.size(),
             "einsum: the equation has another number of operands; got ", shapes.size(), "; want ",
             e.operands.size());
  Plan p;
  std::vector<size_t> widths;
  size_t widest = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const size_t letters = e.operands[i].before.size() + e.operands[i].after.size();
    const bool fits =
        e.operands[i].has_ellipsis ? shapes[i].rank() >= letters : shapes[i].rank() == letters;
    CHECK_USER(fits, "einsum: operand ", i, " has another rank; got ", shapes[i], "; want ",
               letters, " axes");
    widths.push_back(shapes[i].rank() - letters);
    widest = std::max(widest, widths.back());
  }
  CHECK_USER(widest <= kMaxEllipsis, "einsum: too many axes under '...'; got ", widest);
  Labels all;
  for (size_t i = 0; i < shapes.size(); ++i) {
    p.operands.push_back(spelled(e.operands[i], widths[i], widest));
    for (size_t d = 0; d < shapes[i].rank(); ++d) {
      const Label label = p.operands[i][d];
      all += label;
      const auto [at, is_new] = p.sizes.try_emplace(label, shapes[i].dims[d]);
      if (!is_new) at->second = join(label, at->second, shapes[i].dims[d]);
    }
  }
  if (e.result) {
    p.result = spelled(*e.result, e.result->has_ellipsis ? widest : 0, widest);
  } else {
    for (const auto& [label, size] : p.sizes)
      if (static_cast<size_t>(label) < kMaxEllipsis ||
          std::count(all.begin(), all.end(), label) == 1)
        p.result += label;
  }
  for (Label label : p.result) {
    CHECK_USER(p.sizes.count(label), "einsum: no operand has the result's axis '", label, "'");
    CHECK_USER(std::count(p.result.begin(), p.result.end(), label) == 1,
               "einsum: an axis twice in the result; got '", label, "'");
  }
  return p;
}

bool has(const Labels& labels, Label label) { return labels.find(label) != Labels::npos; }

// A value and the labels of its axes.
struct Named {
  Value value;
  Labels labels;
};

// Diagonals for letters that stand twice, sizes of "..." spread out, and sums over what nothing
// else needs.
Named simplified(Named x, const Plan& p, const Labels& needed) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const size_t again = x.labels.find(x.labels[i], i + 1);
    if (again == Labels::npos) continue;
    const Label label = x.labels[i];
    x.value = diagonal(x.value,
                       {.first = static_cast<int64_t>(i), .second = static_cast<int64_t>(again)});
    x.labels.erase(again, 1), x.labels.erase(i, 1);
    x.labels += label;
    i = static_cast<size_t>(-1);
  }
  Shape whole = x.value.shape();
  std::vector<int64_t> unused;
  Labels kept;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const Label label = x.labels[i];
    if (static_cast<size_t>(label) < kMaxEllipsis) whole.dims[i] = p.sizes.at(label);
    if (has(needed, label))
      kept += label;
    else
      unused.push_back(static_cast<int64_t>(i));
  }
  x.value = expand_to(x.value, whole);
  if (!unused.empty()) x.value = sum(x.value, {.axes = unused});
  return {x.value, kept};
}

Named product(const Named& a, const Named& b, const Labels& needed) {
  DotGeneral::Attrs at;
  Labels batch, left, right;
  for (size_t i = 0; i < a.labels.size(); ++i) {
    const Label label = a.labels[i];
    const size_t other = b.labels.find(label);
    if (other == Labels::npos) {
      left += label;
    } else if (has(needed, label)) {
      at.batch_a.push_back(static_cast<int64_t>(i)),
          at.batch_b.push_back(static_cast<int64_t>(other));
      batch += label;
    } else {
      at.contract_a.push_back(static_cast<int64_t>(i)),
          at.contract_b.push_back(static_cast<int64_t>(other));
    }
  }
  for (Label label : b.labels)
    if (!has(a.labels, label)) right += label;
  return {dot_general(a.value, b.value, at), batch + left + right};
}

}  // namespace

void Einsum::type(TypeCx& cx, const Attrs& a) {
  cx.check(cx.n_inputs() > 0, "wants at least one operand");
  std::vector<Shape> shapes;
  for (size_t i = 0; i < cx.n_inputs(); ++i) {
    cx.require_same_dtype(0, i);
    shapes.push_back(cx.shape(i));
  }
  cx.check(cx.in(0).dtype.is_float() || cx.in(0).dtype.is_int(), "takes numbers; got ", cx.in(0));
  const Plan p = plan_of(parse(a.equation), shapes, [&](Label label, Dim m, Dim n) {
    if (static_cast<size_t>(label) < kMaxEllipsis) return cx.broadcast(m, n, "sizes under '...'");
    cx.require_equal(m, n, str("sizes of axis '", label, "'"));
    return m;
  });
  Shape y;
  for (Label label : p.result) y.dims.push_back(p.sizes.at(label));
  cx.out(cx.in(0).dtype, std::move(y));
}

Value Einsum::expand(const Args& args, const Attrs& a) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < args.size(); ++i) shapes.push_back(args[i].shape());
  const Plan p = plan_of(parse(a.equation), shapes, [](Label label, Dim m, Dim n) {
    return static_cast<size_t>(label) < kMaxEllipsis ? dim_broadcast(m, n) : m;
  });
  // What operands from i on, or the result, still need.
  const auto needed_from = [&](size_t i) {
    Labels all = p.result;
    for (; i < p.operands.size(); ++i) all += p.operands[i];
    return all;
  };
  Named sofar = simplified({args[0], p.operands[0]}, p, needed_from(1));
  for (size_t i = 1; i < args.size(); ++i) {
    const Named next = simplified({args[i], p.operands[i]}, p, needed_from(i + 1) + sofar.labels);
    sofar = product(sofar, next, needed_from(i + 1));
    sofar = simplified(sofar, p, needed_from(i + 1));
  }
  std::vector<int64_t> perm;
  for (Label label : p.result) perm.push_back(static_cast<int64_t>(sofar.labels.find(label)));
  return std::is_sorted(perm.begin(), perm.end()) ? sofar.value
                                                  : transpose(sofar.value, {.perm = perm});
}

void Einsum::samples(Samples& s) {
  constexpr DType kTypes[] = {kF32, kF64, kI32};
  s.types(kTypes);
  const auto add = [&](std::vector<std::vector<int64_t>> shapes, std::string equation,
                       int64_t length) {
    std::vector<In> inputs;
    for (auto& shape : shapes) inputs.push_back(In{.shape = std::move(shape)});
    s.add(std::move(inputs), Attrs{std::move(equation)}).length = length;
  };
  add({{3, 5}, {5, 4}}, "ij,jk->ik", 5);
  add({{2, 3, 5}, {2, 5, 4}}, "bij, bjk -> bki", 5);
  add({{3, 3, 2}}, "iij->ji", 1);
  add({{3, 3}}, "ii", 3);
  add({{3, 5}}, "ba", 1);
  add({{2, 3}, {3, 4}, {4, 2}}, "ab,bc,ca->", 24);
  add({{2, 1, 3, 5}, {4, 5, 3}}, "...ij,...ji->...", 15);
  add({{3}, {4}}, "i,j->ji", 1);
  add({{2, 3, 4}, {2, 3}}, "ijk,ij->j", 8);
  add({{0, 5}, {5, 4}}, "ij,jk->ik", 5);
  s.bad({In{.shape = {3, 5}}, In{.shape = {4, 5}}}, Attrs{"ij,jk->ik"}, "sizes of axis 'j'");
  s.bad({In{.shape = {3, 5}}}, Attrs{"ij,jk->ik"}, "another number of operands");
  s.bad({In{.shape = {3, 5}}}, Attrs{"ijk->ik"}, "another rank");
  s.bad({In{.shape = {3, 5}}}, Attrs{"ij->ik"}, "no operand has the result's axis 'k'");
  s.bad({In{.shape = {3, 5}}}, Attrs{"ij->ii"}, "an axis twice in the result");
  s.bad({In{.shape = {3, 5}}}, Attrs{"i3->i"}, "no letter");
  s.bad({In{.shape = {3, 5}}}, Attrs{"...i...->i"}, "'...' twice");
  // golden:begin
  // clang-format off
  const std::string source =
    "NumPy 2.4.6, SciPy 1.17.1, ONNX 1.23.2, tools/golden/tensor_samples.py";
  s.expect(source, {In{.shape = {4, 3}, .dtype = kF32, .values = {0.75, 1, -0.375, -1.875, -0.75,
    -0.75, -1, -2, 0.875, 1.875, -0.75, -0.375}}, In{.shape = {3, 5}, .dtype = kF32, .values =
    {0.875, 1.5, -2, 1.875, 0.125, 0, 1.625, 1.375, -1.5, 1.75, -2, 0, 0.875, -2, -1.25}}},
    Attrs{"ij,jk->ik"}, {Expect{{4, 5}, {1.40625, 2.75, -0.453125, 0.65625, 2.3125, -0.140625,
    -4.03125, 2.0625, -0.890625, -0.609375, -2.625, -4.75, 0.015625, -0.625, -4.71875, 2.390625,
    1.59375, -5.109375, 5.390625, -0.609375}}});
  s.expect(source, {In{.shape = {2, 1, 3, 2}, .dtype = kF32, .values = {-0.125, 0.25, 2, -2, -1.125,
    0, 0, -0.375, 1.75, -2, 1.5, -0.875}}, In{.shape = {3, 2, 4}, .dtype = kF32, .values = {-1.25,
    -0.25, 0.375, 0.125, 0.25, -0.75, 0.75, 0.625, 1.625, 1, 1.375, -1.625, 0.625, 1.75, 0.125,
    -0.625, 0.75, 0.375, 0.125, 1.75, -2, 0.75, -1, -0.25}}}, Attrs{"...ij,...jk->...ki"},
    {Expect{{2, 3, 4, 3}, {0.21875, -3, 1.40625, -0.15625, 1, 0.28125, 0.140625, -0.75, -0.421875,
    0.140625, -1, -0.140625, -0.046875, 2, -1.828125, 0.3125, -1.5, -1.125, -0.140625, 2.5,
    -1.546875, 0.046875, -2, 1.828125, -0.59375, 5.5, -0.84375, 0.140625, -0.75, -0.421875,
    -0.265625, 2.25, -0.140625, -0.28125, 4, -1.96875, -0.09375, -2.6875, -2.09375, 0.28125, 1.0625,
    0.28125, -0.28125, -0.84375, -0.09375, -0.234375, -1.03125, -0.359375, -0.234375, 1.59375,
    1.890625, -0.65625, -1.75, -0.03125, -0.046875, 2.15625, 1.953125, 0.234375, -1.59375,
    -1.890625, 0.75, 5.3125, 2.875, -0.28125, -0.84375, -0.09375, 0.375, 2.21875, 1.0625, 0.09375,
    3.5625, 2.84375}}});
  s.expect(source, {In{.shape = {2, 2, 2}, .dtype = kF32, .values = {2, 1, -1.375, -0.75, -0.25, -2,
    -1.625, 0.75}}, In{.shape = {2, 2}, .dtype = kF32, .values = {1.75, -0.5, 0.25, 1.5}}},
    Attrs{"bii,cb->bic"}, {Expect{{2, 2, 2}, {3.5, 0.5, -1.3125, -0.1875, 0.125, -0.375, -0.375,
    1.125}}});
  s.expect(source, {In{.shape = {2, 3}, .dtype = kF32, .values = {-1.5, -2, -0.875, 0.875, -0.875,
    -0.25}}, In{.shape = {3, 3}, .dtype = kF32, .values = {-1.5, -1.875, 1, -0.375, -0.5, 1.25,
    0.875, 1.625, -0.875}}}, Attrs{"ij,kj"}, {Expect{{2, 3}, {5.125, 0.46875, -3.796875, 0.078125,
    -0.203125, -0.4375}}});
  s.expect(source, {In{.shape = {2, 2}, .dtype = kF32, .values = {0.5, 1.375, 0.875, 0.125}},
    In{.shape = {2, 3}, .dtype = kF32, .values = {1.625, -0.25, 1.75, 0.125, 0, -0.25}}, In{.shape =
    {3, 2}, .dtype = kF32, .values = {-1.875, -0.75, 0.625, -1.75, -1.875, -0.625}}},
    Attrs{"ab,bc,cd->ad"}, {Expect{{2, 2}, {-2.91992188, -0.8515625, -5.64453125, -1.6328125}}});
  // clang-format on
  // golden:end
}

}  // namespace lamella
