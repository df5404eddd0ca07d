// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/sysfs_cpufreq.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <iterator>
#include <sstream>
#include <system_error>

namespace happe {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLongestNumber = 32;
constexpr std::size_t kLongestName = 63;
constexpr std::size_t kLongestTunable = 255;
constexpr std::size_t kLongestLine = 4096;
constexpr const char* kEpp = "energy_performance_preference";
constexpr std::size_t kOtherFiles = 64;  // files that the process may open in addition to those kept open here

std::optional<unsigned long> number(std::string_view text) {
    unsigned long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<Khz> as_khz(unsigned long value) {
    return value >= 1 && value <= kHighestKhz.value ? std::optional(Khz{static_cast<std::uint32_t>(value)})
                                                    : std::nullopt;
}

// Names of governors and tunables become parts of paths, so we check them.
bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

// By Cpufreq::Frequency.
constexpr std::array kFiles{"scaling_cur_freq", "cpuinfo_avg_freq", "scaling_setspeed", "scaling_min_freq",
                            "scaling_max_freq"};

// A policy's files. Those that are missing are empty.
class Lines {
public:
    explicit Lines(fs::path directory) : directory_(std::move(directory)) {}

    std::string operator[](const char* name) {
        auto line = sysfs::read_line(directory_ / name);
        if (!line && !error_) {
            error_ = line.error();
        }
        return line ? std::move(*line).value_or("") : "";
    }
    std::vector<std::string> words(const char* name) {
        std::istringstream words((*this)[name]);
        return {std::istream_iterator<std::string>(words), {}};
    }
    std::optional<Khz> frequency(const char* name) { return as_khz(number((*this)[name]).value_or(0)); }

    // Every frequency that the driver lists, ascending.
    std::vector<Khz> table() {
        std::vector<Khz> table;
        for (const char* const name : {"scaling_available_frequencies", "scaling_boost_frequencies"}) {
            for (const std::string& word : words(name)) {
                if (const auto frequency = as_khz(number(word).value_or(0))) {
                    table.push_back(*frequency);
                }
            }
        }
        std::ranges::sort(table);
        table.erase(std::ranges::unique(table).begin(), table.end());
        return table;
    }
    std::vector<unsigned> cpus() {
        std::vector<unsigned> cpus;
        for (const std::string& word : words("related_cpus")) {
            cpus.push_back(static_cast<unsigned>(number(word).value_or(0)));
        }
        std::ranges::sort(cpus);
        return cpus;
    }

    // Read this last, because a policy may go off line while we read.
    bool is_on_line() { return !(*this)["affected_cpus"].empty(); }

    [[nodiscard]] const std::optional<Error>& error() const { return error_; }  // the first one

private:
    fs::path directory_;
    std::optional<Error> error_;
};

// Text that a document can store and return unchanged: a short line of ASCII.
bool is_plain(std::string_view text) {
    return !text.empty() && text.size() <= kLongestTunable &&
           std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// Assumes that this process can write a file that its owner can write. If not, the write fails with the reason.
bool is_writable(const fs::path& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_IWUSR) != 0;
}

// The kernel shows a limit within the range. A copy of its files may show kNoLimit.
std::optional<Khz> maximum(unsigned long value) {
    return as_khz(std::min<unsigned long>(value, kHighestKhz.value));
}

Result<std::optional<Khz>> frequency_in(sysfs::Attribute& file, std::optional<Khz> (*take)(unsigned long)) {
    std::array<char, kLongestNumber> buffer{};
    const auto line = file.read(buffer);
    if (!line) {
        return tl::unexpected<Error>(line.error());
    }
    if (!*line || **line == "<unsupported>") {
        return std::nullopt;
    }
    const auto value = take(number(**line).value_or(0));
    return value ? Result<std::optional<Khz>>(value)
                 : failure(fmt::format("{}: not a frequency: \"{}\"", file.path().string(), **line));
}

}  // namespace

fs::path SysfsCpufreq::directory(PolicyId policy) const {
    return root_ / "cpufreq" / fmt::format("policy{}", policy.value);
}

// Tunables belong to one policy or to all, depending on the driver.
fs::path SysfsCpufreq::tunables_of(PolicyId policy, const std::string& governor) const {
    std::error_code none;
    const fs::path own = directory(policy) / governor;
    return fs::is_directory(own, none) ? own : root_ / "cpufreq" / governor;
}

Result<std::vector<PolicyId>> SysfsCpufreq::ids() const {
    constexpr std::string_view kPrefix = "policy";
    std::vector<PolicyId> result;
    std::error_code error;
    for (fs::directory_iterator entry(root_ / "cpufreq", error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        const auto id = name.starts_with(kPrefix) ? number(name.substr(kPrefix.size())) : std::nullopt;
        if (id && *id <= kHighestPolicyId.value) {
            result.push_back(PolicyId{static_cast<std::uint16_t>(*id)});
        }
    }
    if (error && error != std::errc::no_such_file_or_directory) {
        return sysfs::refused(root_ / "cpufreq", error.value());
    }
    std::ranges::sort(result);
    return result;
}

Result<std::optional<CpufreqPolicy>> SysfsCpufreq::policy(PolicyId id) const {
    Lines files(directory(id));
    CpufreqPolicy found{.id = id,
                        .cpus = files.cpus(),
                        .driver = files["scaling_driver"],
                        .governors = files.words("scaling_available_governors"),
                        .epps = files.words("energy_performance_available_preferences"),
                        .frequencies = files.table(),
                        .lowest = files.frequency("cpuinfo_min_freq").value_or(Khz{}),
                        .highest = files.frequency("cpuinfo_max_freq").value_or(Khz{}),
                        .bios_limit = files.frequency("bios_limit")};
    const bool is_on_line = files.is_on_line();
    if (files.error()) {
        return tl::unexpected<Error>(*files.error());
    }
    if (!is_on_line) {
        return std::nullopt;
    }
    if (found.lowest == Khz{} || found.lowest > found.highest) {
        return failure(fmt::format("{}: cpuinfo_min_freq and cpuinfo_max_freq are not a range of frequencies",
                                   directory(id).string()));
    }
    std::erase_if(found.frequencies, [&](Khz entry) { return entry > found.highest; });  // boost is off
    found.highest = found.frequencies.empty() ? found.highest : found.frequencies.back();
    return found;
}

Result<std::vector<CpufreqPolicy>> SysfsCpufreq::policies() const {
    const auto all = ids();
    if (!all) {
        return tl::unexpected<Error>(all.error());
    }
    std::vector<CpufreqPolicy> result;
    for (const PolicyId id : *all) {
        auto found = policy(id);
        if (!found) {
            return tl::unexpected<Error>(found.error());
        }
        if (*found) {
            result.push_back(std::move(**found));
        }
    }
    return result;
}

std::vector<Khz> SysfsCpufreq::table(PolicyId policy) const {
    return Lines(directory(policy)).table();
}

Result<std::optional<CpufreqSettings>> SysfsCpufreq::settings(PolicyId policy) const {
    Lines files(directory(policy));
    const std::string governor = files["scaling_governor"];
    const auto min = files.frequency("scaling_min_freq");
    const auto max = maximum(number(files["scaling_max_freq"]).value_or(0));
    const auto speed = files.frequency("scaling_setspeed");  // none while it is "<unsupported>"
    const bool is_on_line = files.is_on_line();
    if (files.error()) {
        return tl::unexpected<Error>(*files.error());
    }
    if (!is_on_line) {
        return std::nullopt;
    }
    if (governor.empty() || !min || !max) {
        return failure(fmt::format("{}: scaling_governor, scaling_min_freq and scaling_max_freq are not settings",
                                   directory(policy).string()));
    }
    return CpufreqSettings{.governor = governor, .min = *min, .max = *max, .speed = speed};
}

// Without scaling_boost_frequencies, which lists the same whether boost is on or off: cpuinfo_max_freq shows it.
Result<std::optional<std::string>> SysfsCpufreq::outline(PolicyId policy) const {
    if (outlined_ != policy) {
        outline_.clear();
        for (const char* const name :
             {"scaling_driver", "cpuinfo_min_freq", "cpuinfo_max_freq", "scaling_available_frequencies"}) {
            outline_.emplace_back(directory(policy) / name);
        }
        outlined_ = policy;
    }
    std::array<char, kLongestLine> buffer{};
    std::string text;
    for (sysfs::Attribute& file : outline_) {
        const auto line = file.read(buffer);
        if (!line) {
            return tl::unexpected<Error>(line.error());
        }
        if (&file == &outline_.front() && !*line) {
            return std::nullopt;
        }
        text += line->value_or("");
        text += '\n';
    }
    return std::optional(std::move(text));
}

// Keeps the file open while the process may open more files. Opens other files each time.
sysfs::Attribute& SysfsCpufreq::attribute(PolicyId policy, Frequency which) const {
    if (attributes_.size() <= policy.value) {
        attributes_.resize(std::size_t{policy.value} + 1);
    }
    std::optional<sysfs::Attribute>& kept = attributes_[policy.value].at(static_cast<std::size_t>(which));
    if (kept) {
        return *kept;
    }
    sysfs::Attribute file(directory(policy) / kFiles.at(static_cast<std::size_t>(which)));
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && kept_ + kOtherFiles >= files.rlim_cur) {
        return passing_ = std::move(file);
    }
    ++kept_;
    return kept.emplace(std::move(file));
}

Result<std::optional<Khz>> SysfsCpufreq::frequency(PolicyId policy, Frequency which) const {
    return frequency_in(attribute(policy, which), which == Frequency::Max ? maximum : as_khz);
}

Status SysfsCpufreq::set_frequency(PolicyId policy, Frequency which, Khz khz) {
    std::array<char, kLongestNumber> buffer{};
    char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size() - 1, khz.value).ptr;
    *end = '\n';
    const std::string_view text(buffer.data(), static_cast<std::size_t>(end + 1 - buffer.data()));
    return attribute(policy, which).write(text);
}

void SysfsCpufreq::wait_for_maximum() {
    const timespec moment{.tv_sec = 0, .tv_nsec = 20'000'000};
    ::nanosleep(&moment, nullptr);
}

Status SysfsCpufreq::set_governor(PolicyId policy, const std::string& governor) {
    const fs::path file = directory(policy) / "scaling_governor";
    return is_name(governor) ? sysfs::write_line(file, governor)
                             : failure(fmt::format("{}: \"{}\" is not a governor", file.string(), governor));
}

Result<std::optional<std::string>> SysfsCpufreq::epp(PolicyId policy) const {
    return sysfs::read_line(directory(policy) / kEpp)
        .and_then([&](std::optional<std::string>&& line) -> Result<std::optional<std::string>> {
            const bool known = !line || is_name(*line);
            return known ? Result<std::optional<std::string>>(std::move(line))
                         : failure(fmt::format("{}: not a preference", (directory(policy) / kEpp).string()));
        });
}

Status SysfsCpufreq::set_epp(PolicyId policy, const std::string& epp) {
    return sysfs::write_line(directory(policy) / kEpp, epp);
}

Result<Tunables> SysfsCpufreq::tunables(PolicyId policy, const std::string& governor) const {
    Tunables result;
    const fs::path directory = tunables_of(policy, governor);
    std::error_code error;
    if (!is_name(governor) || !fs::is_directory(directory, error)) {
        return result;
    }
    for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        const auto value = is_name(name) && is_writable(entry->path()) ? sysfs::read_line(entry->path()) : std::nullopt;
        if (!value) {
            return tl::unexpected<Error>(value.error());
        }
        if (*value && is_plain(**value)) {
            result.emplace(name, **value);
        }
    }
    return error && !sysfs::is_absent(error.value()) ? sysfs::refused(directory, error.value())
                                                     : Result<Tunables>(std::move(result));
}

Status SysfsCpufreq::set_tunable(PolicyId policy, const std::string& governor, const std::string& name,
                                 const std::string& value) {
    if (!is_name(governor) || !is_name(name)) {
        return failure(fmt::format("\"{}\" of \"{}\" is not a tunable of a governor", name, governor));
    }
    return sysfs::write_line(tunables_of(policy, governor) / name, value);
}

}  // namespace happe
