// `lamella check quant DIR`: the formats of the table against reference bytes and values in a
// folder.
#pragma once

#include <string>
#include <vector>

namespace lamella::quant {

struct QuantReport {
  enum class Outcome { passed, failed, skipped };
  struct Entry {
    std::string format;
    Outcome outcome;
    std::string detail;  // what was compared, why it failed, or why it was skipped
  };
  std::vector<Entry> entries;

  int count(Outcome outcome) const;
  // One line an entry, then "N passed, N failed, N skipped".
  std::string text() const;
};

// The folder holds manifest.json and, per format NAME in it, NAME.raw and, where the manifest says
// so, NAME.enc and NAME.enc_im (encoded rows), each with its .f32 (values); NAME.src.f32 is what
// NAME.enc encodes. Everything must agree bit for bit (any NaN with any NaN): each decode, and the
// encoding where we have the plain reference method. Throws UserError when the folder or its
// manifest cannot be read.
QuantReport check_quant(const std::string& folder);

}  // namespace lamella::quant
