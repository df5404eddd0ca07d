// SPDX-License-Identifier: GPL-2.0-or-later
// Seeds and a progress bar, for commands that simulate for long.
#pragma once

#include "governor/core/result.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace happe {

// Reads "7" or "1..10".
Result<std::vector<std::uint64_t>> seeds(const std::string& text);

// Shows "[######....] 192/480 runs", only on a terminal. Several threads may share it.
class Progress {
public:
    Progress(std::size_t total, bool quiet);

    void clear() const { show("\r\033[K"); }
    void step();

private:
    void show(const std::string& text) const;

    std::atomic<std::size_t> done_{0};
    std::size_t total_;
    bool shown_;
};

}  // namespace happe
