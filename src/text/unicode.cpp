// Implements text/unicode.h.
#include "lamella/text/unicode.h"

#include <algorithm>
#include <span>
#include <vector>

#include "lamella/text/unicode_tables.h"
#include "lamella/text/utf8.h"

namespace lamella {
namespace {

namespace tables = unicode_tables;
using Numbers = std::span<const int32_t>;

bool is_in(Numbers boundaries, uint32_t code) {
  const auto above =
      std::upper_bound(boundaries.begin(), boundaries.end(), static_cast<int32_t>(code));
  return (above - boundaries.begin()) % 2 == 1;
}

// Of rows of `width` numbers, sorted by their first, the last one not above `code`; null if none.
const int32_t* row_at(Numbers rows, size_t width, uint32_t code) {
  size_t low = 0, high = rows.size() / width;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (rows[middle * width] <= static_cast<int32_t>(code)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? nullptr : &rows[(low - 1) * width];
}

int combining_class(uint32_t code) {
  if (code < 0x300) return 0;
  const int32_t* row = row_at(tables::combining_classes(), 3, code);
  return row && static_cast<int32_t>(code) <= row[1] ? row[2] : 0;
}

// Hangul syllables are computed: lead, vowel and tail letters.
constexpr uint32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;
constexpr uint32_t kNVowels = 21, kNTails = 28, kNSyllables = 19 * kNVowels * kNTails;

struct Pair {
  uint64_t parts = 0;
  uint32_t whole = 0;
};

// Look-ups by code point and by pair, made from the tables once.
class Forms {
 public:
  Forms() {
    index(tables::canonical(), canonical_);
    index(tables::compatible(), compatible_);
    for (const int32_t* row : canonical_) {
      const Numbers apart = tables::not_composed();
      if (row[1] == 2 && !std::binary_search(apart.begin(), apart.end(), row[0]))
        pairs_.push_back({pair_key(row[2], row[3]), static_cast<uint32_t>(row[0])});
    }
    std::sort(pairs_.begin(), pairs_.end(),
              [](const Pair& a, const Pair& b) { return a.parts < b.parts; });
  }

  void decompose(uint32_t code, bool compatible, std::vector<uint32_t>& out) const {
    if (code - kSyllables < kNSyllables) {
      const uint32_t at = code - kSyllables, tail = at % kNTails;
      out.push_back(kLeads + at / (kNVowels * kNTails));
      out.push_back(kVowels + at / kNTails % kNVowels);
      if (tail > 0) out.push_back(kTails + tail);
      return;
    }
    const int32_t* row = code < 0xA0 ? nullptr : find(canonical_, code);
    if (!row && compatible && code >= 0xA0) row = find(compatible_, code);
    if (!row) {
      out.push_back(code);
      return;
    }
    for (int32_t i = 0; i < row[1]; ++i)
      decompose(static_cast<uint32_t>(row[2 + i]), compatible, out);
  }

  // The character that `a` and `b` compose to; 0 if none.
  uint32_t compose(uint32_t a, uint32_t b) const {
    if (a - kLeads < 19 && b - kVowels < kNVowels)
      return kSyllables + ((a - kLeads) * kNVowels + (b - kVowels)) * kNTails;
    if (a - kSyllables < kNSyllables && (a - kSyllables) % kNTails == 0 && b - kTails < kNTails &&
        b != kTails)
      return a + (b - kTails);
    const uint64_t key = pair_key(a, b);
    const auto at = std::lower_bound(pairs_.begin(), pairs_.end(), key,
                                     [](const Pair& p, uint64_t k) { return p.parts < k; });
    return at != pairs_.end() && at->parts == key ? at->whole : 0;
  }

 private:
  static uint64_t pair_key(uint64_t a, uint64_t b) { return a << 32 | b; }

  static void index(Numbers rows, std::vector<const int32_t*>& index) {
    for (size_t i = 0; i < rows.size(); i += 2 + static_cast<size_t>(rows[i + 1]))
      index.push_back(&rows[i]);
  }

  static const int32_t* find(const std::vector<const int32_t*>& index, uint32_t code) {
    const auto wanted = static_cast<int32_t>(code);
    const auto at = std::lower_bound(index.begin(), index.end(), wanted,
                                     [](const int32_t* row, int32_t c) { return row[0] < c; });
    return at != index.end() && (*at)[0] == wanted ? *at : nullptr;
  }

  std::vector<const int32_t*> canonical_, compatible_;
  std::vector<Pair> pairs_;
};

const Forms& forms() {
  static const Forms instance;
  return instance;
}

// Marks in the order of their classes, within each run of them.
void order_marks(std::vector<uint32_t>& codes) {
  for (size_t i = 0; i < codes.size();) {
    if (combining_class(codes[i]) == 0) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < codes.size() && combining_class(codes[end]) != 0) ++end;
    std::stable_sort(
        codes.begin() + static_cast<ptrdiff_t>(i), codes.begin() + static_cast<ptrdiff_t>(end),
        [](uint32_t a, uint32_t b) { return combining_class(a) < combining_class(b); });
    i = end;
  }
}

void compose(std::vector<uint32_t>& codes) {
  std::vector<uint32_t> out;
  size_t starter = SIZE_MAX;  // where in `out` the last character of class 0 is
  int last_class = 0;         // of the last character of `out`; 0 if it is the starter
  for (const uint32_t code : codes) {
    const int own = combining_class(code);
    const bool open = starter != SIZE_MAX && (out.size() == starter + 1 || last_class < own);
    const uint32_t whole = open ? forms().compose(out[starter], code) : 0;
    if (whole != 0) {
      out[starter] = whole;
      continue;
    }
    if (own == 0) starter = out.size();
    last_class = own;
    out.push_back(code);
  }
  codes.swap(out);
}

}  // namespace

bool is_accent(uint32_t code) { return code >= 0x300 && is_in(tables::accents(), code); }
bool is_mark(uint32_t code) { return code >= 0x300 && is_in(tables::marks(), code); }
bool is_punctuation(uint32_t code) { return is_in(tables::punctuation(), code); }
bool is_numeric(uint32_t code) { return is_in(tables::numbers(), code); }
bool is_other(uint32_t code) { return is_in(tables::others(), code); }

bool is_white_space(uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

void append_lower(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code >= 'A' && code <= 'Z' ? code + 32 : code);
    return;
  }
  if (code == 0x130) {  // I with a dot: the only one whose lower case is two characters
    text += "i\xCC\x87";
    return;
  }
  const int32_t* row = row_at(tables::lower_case(), 4, code);
  const auto signed_code = static_cast<int32_t>(code);
  if (row && signed_code <= row[1] && (signed_code - row[0]) % row[2] == 0)
    code = static_cast<uint32_t>(signed_code + row[3]);
  append_utf8(text, code);
}

std::string lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](uint32_t code, std::string_view) { append_lower(out, code); });
  return out;
}

std::string normal_form(std::string_view text, NormalForm form) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; }))
    return std::string(text);
  const bool compatible = form == NormalForm::kc || form == NormalForm::kd;
  std::vector<uint32_t> codes;
  codes.reserve(text.size());
  each_character(
      text, [&](uint32_t code, std::string_view) { forms().decompose(code, compatible, codes); });
  order_marks(codes);
  if (form == NormalForm::c || form == NormalForm::kc) compose(codes);
  std::string out;
  out.reserve(text.size());
  for (const uint32_t code : codes) append_utf8(out, code);
  return out;
}

}  // namespace lamella
