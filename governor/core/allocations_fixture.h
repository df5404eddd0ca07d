// SPDX-License-Identifier: GPL-2.0-or-later
// Replaces operator new by one that counts. Include in one file of a program; the others include
// allocation_count_fixture.h.
#pragma once

#include "governor/core/allocation_count_fixture.h"

#include <cstdlib>
#include <new>

// Not inlined: otherwise the compiler warns about free() in place of delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
