// Facts of Unicode as flat lists of numbers; tools/make_unicode_tables.py says how each is laid
// out.
#pragma once

#include <cstdint>
#include <span>

namespace lamella::unicode_tables {

// Boundaries of sets: a code point is in one when an odd number of them is not above it.
std::span<const int32_t> accents();      // Mn
std::span<const int32_t> marks();        // M
std::span<const int32_t> punctuation();  // P
std::span<const int32_t> numbers();      // N
std::span<const int32_t> others();       // Cc, Cf, Co

std::span<const int32_t> lower_case();         // first, last, step, distance to the lower case
std::span<const int32_t> combining_classes();  // first, last, class
std::span<const int32_t> not_composed();       // code points that normal form C never makes
std::span<const int32_t> canonical();          // code point, length, its decomposition by one step
std::span<const int32_t> compatible();

}  // namespace lamella::unicode_tables
