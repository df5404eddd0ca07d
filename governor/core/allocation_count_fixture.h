// SPDX-License-Identifier: GPL-2.0-or-later
// How often a test program has allocated since it began. One of its files includes allocations_fixture.h, which counts.
#pragma once

#include <atomic>
#include <cstddef>

inline std::atomic<std::size_t> allocations = 0;
