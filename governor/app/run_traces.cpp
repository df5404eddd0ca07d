// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/app/run_traces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

namespace happe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCodeDigits = 16;
constexpr std::string_view kSuffix = ".jsonl";

bool is_code(std::string_view run) {
    return run.size() == kCodeDigits && run.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<RunCondition> parse_condition(const std::string& name, std::size_t steps) {
    using Rule = RunCondition::Rule;
    if (name == "ondemand") {
        return RunCondition{.rule = Rule::Ondemand};
    }
    if (name == "T-HAPPE") {
        return RunCondition{.rule = Rule::Training};
    }
    if (name == "O-HAPPE" || name == "B-HAPPE") {
        return RunCondition{.rule = Rule::Operating};
    }
    constexpr std::string_view kFixed = "fixed-";
    std::size_t step = 0;
    if (name.starts_with(kFixed)) {
        const char* const end = name.data() + name.size();
        const auto [stop, error] = std::from_chars(name.data() + kFixed.size(), end, step);
        step = error == std::errc() && stop == end && step <= steps ? step : 0;
    }
    if (step == 0) {
        return failure(
            fmt::format("none of ondemand, T-HAPPE, O-HAPPE, B-HAPPE, and fixed-1 to fixed-{} on this machine", steps));
    }
    return RunCondition{.rule = Rule::Fixed, .step = step - 1};
}

Result<RunTraces::Begun> RunTraces::begin() {
    std::error_code trouble;
    fs::create_directories(folder_, trouble);
    fs::permissions(folder_, fs::perms::owner_all, trouble);
    std::uint64_t random = 0;
    if (trouble || getrandom(&random, sizeof random, 0) != sizeof random) {
        return failure(fmt::format("{}: {}", folder_.string(), trouble.message()));
    }
    prune();
    std::string run = fmt::format("{:016x}", random);
    const fs::path path = folder_ / (run + std::string(kSuffix));
    FileDescriptor trace(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!trace) {
        return failure(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
    }
    return Begun{std::move(run), std::move(trace)};
}

Result<FileDescriptor> RunTraces::open(const std::string& run) const {
    const fs::path path = folder_ / (run + std::string(kSuffix));
    FileDescriptor trace(is_code(run) ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1);
    if (!trace) {
        return failure("no such run");
    }
    return trace;
}

// Room for one more.
void RunTraces::prune() {
    std::vector<std::pair<fs::file_time_type, fs::path>> traces;
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(folder_, gone)) {
        if (entry.path().extension() == kSuffix) {
            traces.emplace_back(entry.last_write_time(gone), entry.path());
        }
    }
    std::ranges::sort(traces);
    for (std::size_t i = 0; i + kMostKept <= traces.size(); ++i) {
        fs::remove(traces[i].second, gone);
    }
}

}  // namespace happe
