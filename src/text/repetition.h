// How sequences repeat themselves: what penalties look at.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lamella {

// For every token that followed an earlier occurrence of the end of `history`: calls
// found(token, length) with the length of the longest such end. Ends do not reach across a token
// of `breakers`. Linear in the history.
void each_continuation(std::span<const int32_t> history, std::span<const int32_t> breakers,
                       const std::function<void(int32_t token, size_t length)>& found);

}  // namespace lamella
