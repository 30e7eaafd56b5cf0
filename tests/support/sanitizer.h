// What sanitizers add to the time and memory of what is tested.
#pragma once

namespace lamella::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kSanitizerSlack = 5;
#elif defined(__has_feature)
inline constexpr int kSanitizerSlack =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ? 5 : 1;
#else
inline constexpr int kSanitizerSlack = 1;
#endif

}  // namespace lamella::test
