// SPDX-License-Identifier: GPL-2.0-or-later
// For tests that count what their program allocates: replaces operator new, once for all files of the program (weak).
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

inline std::atomic<std::size_t> allocations = 0;  // since the program began

// Not inlined: otherwise the compiler warns about free() in place of delete.
[[gnu::noinline, gnu::weak]] void* operator new(std::size_t size) {
    ++allocations;
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}
[[gnu::noinline, gnu::weak]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline, gnu::weak]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
