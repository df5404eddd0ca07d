// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace happe {

// Calls work(0) to work(count - 1), each once, from `jobs` threads, one of them the caller's. After all threads have
// ended, throws their first exception.
inline void in_threads(std::size_t jobs, std::size_t count, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto some = [&] {
        try {
            for (std::size_t i = next++; i < count; i = next++) {
                work(i);
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = failure ? failure : std::current_exception();
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < std::min(jobs, count); ++i) {
            threads.emplace_back(some);
        }
        some();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace happe
