// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/proc_stat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace happe {
namespace {

constexpr std::size_t kFirstBuffer = std::size_t{16} << 10U;
constexpr std::size_t kLargestBuffer = std::size_t{16} << 20U;  // 8192 CPUs take under 2 MiB

// The columns of a cpuN line. Old kernels end it after any of them from idle on; newer ones add guest and guest_nice.
enum Column : std::size_t { User, Nice, System, Idle, Iowait, Irq, Softirq, Steal, Columns };
constexpr std::size_t kFewestColumns = Iowait;

struct Line {
    std::string_view text;
    std::size_t number;
};

[[gnu::cold]] tl::unexpected<Error> wrong(const Line& line, std::string_view what) {
    return failure(fmt::format("line {}: {}: \"{}\"", line.number, what, line.text.substr(0, 80)));
}

void skip_spaces(std::string_view& text) {
    while (text.starts_with(' ')) {
        text.remove_prefix(1);
    }
}

// Removes a number and the spaces after it from the front of the text.
std::errc take(std::string_view& text, std::uint64_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (error == std::errc() && !text.empty() && text.front() != ' ') {
        return std::errc::invalid_argument;
    }
    skip_spaces(text);
    return error;
}

Result<CpuTicks> ticks(const Line& line, std::string_view rest) {
    std::array<std::uint64_t, Columns> column{};
    std::size_t count = 0;
    for (; !rest.empty(); ++count) {
        std::uint64_t value = 0;
        const std::errc error = take(rest, value);
        if (error != std::errc()) {
            return wrong(line, error == std::errc::result_out_of_range ? "a number above 64 bits" : "not a number");
        }
        if (count < Columns) {
            column.at(count) = value;
        }
    }
    if (count < kFewestColumns) {
        return wrong(line, "fewer than four numbers");
    }
    return CpuTicks{
        .busy = column[User] + column[Nice] + column[System] + column[Irq] + column[Softirq] + column[Steal],
        .idle = column[Idle],
        .iowait = column[Iowait]};
}

// A line that begins with "cpuN".
Status parse_cpu(const Line& line, std::vector<std::optional<CpuTicks>>& cpus) {
    std::string_view rest = line.text.substr(3);
    std::uint64_t cpu = 0;
    if (take(rest, cpu) != std::errc() || cpu > ProcStat::kHighestCpu) {
        return wrong(line, fmt::format("not a CPU from 0 to {}", ProcStat::kHighestCpu));
    }
    if (cpus.size() <= cpu) {
        cpus.resize(cpu + 1);
    }
    if (cpus[cpu]) {
        return wrong(line, "the same CPU again");
    }
    const auto parsed = ticks(line, rest);
    if (!parsed) {
        return tl::unexpected<Error>(parsed.error());
    }
    cpus[cpu] = *parsed;
    return {};
}

// The ticks between two counts: exact across the wrap at 2^64, none if the counter went back. Limited to a thousand
// years, so that products stay within 64 bits.
std::uint64_t elapsed(std::uint64_t before, std::uint64_t now) {
    constexpr std::int64_t kMost = std::int64_t{1} << 42;
    return static_cast<std::uint64_t>(std::clamp(static_cast<std::int64_t>(now - before), std::int64_t{0}, kMost));
}

}  // namespace

// utilisation = busy / (busy + idle + iowait)
std::optional<Ppm> ProcStat::utilisation(const CpuTicks& before, const CpuTicks& now) {
    const std::uint64_t busy = elapsed(before.busy, now.busy);
    const std::uint64_t total = busy + elapsed(before.idle, now.idle) + elapsed(before.iowait, now.iowait);
    if (total == 0) {
        return std::nullopt;
    }
    return Ppm{static_cast<std::uint32_t>(busy * kOne.value / total)};
}

Status ProcStat::parse(std::string_view text, std::vector<std::optional<CpuTicks>>& cpus) {
    cpus.clear();
    for (std::size_t number = 1; text.starts_with("cpu"); ++number) {
        const std::size_t end = text.find('\n');
        const Line line{.text = text.substr(0, end), .number = number};
        if (end == std::string_view::npos) {
            return wrong(line, "truncated");
        }
        if (line.text.substr(3, 1) != " ") {  // the sum of all CPUs has no number
            if (const Status status = parse_cpu(line, cpus); !status) {
                return status;
            }
        }
        text.remove_prefix(end + 1);
    }
    return cpus.empty() ? Status(failure("line 1: not a CPU's line")) : Status();
}

Result<std::span<const std::optional<Ppm>>> ProcStat::sample() {
    const Status status = read().and_then([this] { return parse({buffer_.data(), length_}, now_); });
    if (!status) {
        return failure(fmt::format("{}: {}", path_, status.error().message));
    }
    utilisation_.assign(now_.size(), std::nullopt);
    for (std::size_t cpu = 0; cpu < std::min(before_.size(), now_.size()); ++cpu) {
        if (before_[cpu] && now_[cpu]) {
            utilisation_[cpu] = utilisation(*before_[cpu], *now_[cpu]);
        }
    }
    std::swap(before_, now_);
    return std::span<const std::optional<Ppm>>(utilisation_);
}

// Reads the file at once, so that all lines are of one moment. A full buffer may have cut the text.
Status ProcStat::read() {
    if (!file_) {
        buffer_.resize(kFirstBuffer);
        file_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    }
    while (true) {
        const ssize_t count = file_ ? ::pread(file_.get(), buffer_.data(), buffer_.size(), 0) : -1;
        if (count < 0) {
            return failure(std::generic_category().message(errno));
        }
        length_ = static_cast<std::size_t>(count);
        if (length_ < buffer_.size()) {
            return {};
        }
        if (buffer_.size() >= kLargestBuffer) {
            return failure(fmt::format("longer than {} bytes", kLargestBuffer));
        }
        buffer_.resize(buffer_.size() * 2);
    }
}

}  // namespace happe
