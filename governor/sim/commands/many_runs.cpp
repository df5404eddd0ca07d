// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/sim/commands/many_runs.h"

#include <fmt/format.h>
#include <unistd.h>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

namespace happe {
namespace {

constexpr std::size_t kMostSeeds = 10'000;

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value <= UINT32_MAX;
    return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<std::vector<std::uint64_t>> seeds(const std::string& text) {
    const auto dots = text.find("..");
    const auto first = number(text.substr(0, dots));
    const auto last = dots == std::string::npos ? first : number(text.substr(dots + 2));
    if (!first || !last || *last < *first || *last - *first >= kMostSeeds) {
        return failure(
            fmt::format("--seed {}: must be a number or a range such as 1..10, of at most {} seeds", text, kMostSeeds));
    }
    std::vector<std::uint64_t> all;
    for (std::uint64_t seed = *first; seed <= *last; ++seed) {
        all.push_back(seed);
    }
    return all;
}

Progress::Progress(std::size_t total, bool quiet) : total_(total), shown_(!quiet && isatty(STDERR_FILENO) == 1) {}

void Progress::step() {
    constexpr std::size_t kWidth = 40;
    const std::size_t done = ++done_;
    if (!shown_ || done * 100 / total_ == (done - 1) * 100 / total_) {
        return;
    }
    const std::size_t filled = done * kWidth / total_;
    show(fmt::format("\r[{}{}] {}/{} runs", std::string(filled, '#'), std::string(kWidth - filled, '.'), done, total_));
}

void Progress::show(const std::string& text) const {
    if (shown_) {
        std::fputs(text.c_str(), stderr);
    }
}

}  // namespace happe
