// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <vector>

namespace happe {

// Calls work(0) to work(count - 1), each once, from `jobs` threads, one of them the caller's. After all threads have
// ended, throws an exception of one that threw.
inline void in_threads(std::size_t jobs, std::size_t count, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    const auto some = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            work(i);
        }
    };
    std::vector<std::future<void>> others;  // a future of std::async waits in its destructor
    for (std::size_t i = 1; i < std::min(jobs, count); ++i) {
        others.push_back(std::async(std::launch::async, some));
    }
    some();
    std::ranges::for_each(others, &std::future<void>::get);
}

}  // namespace happe
