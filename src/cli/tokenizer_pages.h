// docs/tokenizers.md, from the tables of the text library.
#pragma once

#include <string>

namespace lamella::cli {

std::string tokenizers_markdown();

}  // namespace lamella::cli
