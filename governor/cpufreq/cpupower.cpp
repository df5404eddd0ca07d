// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/cpufreq/cpupower.h"

#include <cpufreq.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <iterator>
#include <memory>
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

std::optional<Khz> khz(unsigned long value) {
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

// libcpupower's lists. Each has its own function to free it.
template <typename Item, typename Take>
auto values_of(Item* first, void (*put)(Item*), Take take) {
    const std::unique_ptr<Item, void (*)(Item*)> owner(first, put);
    std::vector<decltype(take(*first))> values;
    for (const Item* item = first; item != nullptr; item = item->next) {
        values.push_back(take(*item));
    }
    return values;
}

std::vector<Khz> frequencies_of(unsigned cpu) {
    const auto take = [](const cpufreq_available_frequencies& item) { return item.frequency; };
    auto listed = values_of(::cpufreq_get_available_frequencies(cpu), ::cpufreq_put_available_frequencies, take);
    std::ranges::copy(values_of(::cpufreq_get_boost_frequencies(cpu), ::cpufreq_put_boost_frequencies, take),
                      std::back_inserter(listed));
    std::vector<Khz> result;
    for (const unsigned long value : listed) {
        if (const auto frequency = khz(value)) {
            result.push_back(*frequency);
        }
    }
    std::ranges::sort(result);
    const auto twice = std::ranges::unique(result);
    result.erase(twice.begin(), twice.end());
    return result;
}

std::vector<std::string> governors_of(unsigned cpu) {
    return values_of(::cpufreq_get_available_governors(cpu), ::cpufreq_put_available_governors,
                     [](const cpufreq_available_governors& item) { return std::string(item.governor); });
}

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
}

std::vector<unsigned> cpus_of(cpufreq_affected_cpus* first, void (*put)(cpufreq_affected_cpus*)) {
    auto cpus = values_of(first, put, [](const cpufreq_affected_cpus& item) { return item.cpu; });
    std::ranges::sort(cpus);
    return cpus;
}

std::string driver_of(unsigned cpu) {
    const std::unique_ptr<char, void (*)(char*)> driver(::cpufreq_get_driver(cpu), ::cpufreq_put_driver);
    return driver ? driver.get() : "";
}

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
    return khz(std::min<unsigned long>(value, kHighestKhz.value));
}

Result<std::optional<Khz>> frequency_in(sysfs::Attribute& file, std::optional<Khz> (*take)(unsigned long) = khz) {
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

fs::path Cpupower::directory(PolicyId policy) const {
    return root_ / "cpufreq" / fmt::format("policy{}", policy.value);
}

// Tunables belong to one policy or to all, depending on the driver.
fs::path Cpupower::tunables_of(PolicyId policy, const std::string& governor) const {
    std::error_code none;
    const fs::path own = directory(policy) / governor;
    return fs::is_directory(own, none) ? own : root_ / "cpufreq" / governor;
}

// Without libcpupower, which takes a file that does not open for a policy that is off line.
Result<bool> Cpupower::is_on_line(PolicyId policy) const {
    return sysfs::read_line(directory(policy) / "affected_cpus").map([](const std::optional<std::string>& cpus) {
        return cpus && !cpus->empty();
    });
}

Result<std::vector<PolicyId>> Cpupower::ids() const {
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

// A policy's number is the number of one of its CPUs. libcpupower takes such a number.
Result<std::optional<CpufreqPolicy>> Cpupower::policy(PolicyId id) const {
    const auto on_line = is_on_line(id);
    if (!on_line || !*on_line) {
        return on_line.map([](bool) { return std::optional<CpufreqPolicy>(); });
    }
    errno = 0;  // libcpupower mistakes an old ERANGE for its own
    unsigned long lowest = 0;
    unsigned long highest = 0;
    static_cast<void>(::cpufreq_get_hardware_limits(id.value, &lowest, &highest));
    if (!khz(lowest) || !khz(highest) || lowest > highest) {
        return failure(
            fmt::format("{}: cpuinfo_min_freq and cpuinfo_max_freq are not a range of frequencies: {} and {}",
                        directory(id).string(), lowest, highest));
    }
    const auto limit = sysfs::read_line(directory(id) / "bios_limit");
    const auto epps = sysfs::read_line(directory(id) / "energy_performance_available_preferences");
    const auto efficient = sysfs::read_line(directory(id) / "amd_pstate_lowest_nonlinear_freq");
    if (!limit || !epps) {
        return tl::unexpected<Error>((limit ? epps : limit).error());
    }
    std::vector<Khz> table = frequencies_of(id.value);
    std::erase_if(table, [&](Khz entry) { return entry.value > highest; });  // boost is off
    return CpufreqPolicy{.id = id,
                         .cpus = cpus_of(::cpufreq_get_related_cpus(id.value), ::cpufreq_put_related_cpus),
                         .driver = driver_of(id.value),
                         .governors = governors_of(id.value),
                         .epps = words_of(epps->value_or("")),
                         .frequencies = table,
                         .lowest = *khz(lowest),
                         .highest = table.empty() ? *khz(highest) : table.back(),
                         .efficient = efficient && *efficient ? khz(number(**efficient).value_or(0)) : std::nullopt,
                         .bios_limit = *limit ? khz(number(**limit).value_or(0)) : std::nullopt};
}

Result<std::vector<CpufreqPolicy>> Cpupower::policies() const {
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

std::vector<Khz> Cpupower::table(PolicyId policy) const {
    return frequencies_of(policy.value);
}

Result<std::optional<CpufreqSettings>> Cpupower::settings(PolicyId policy) const {
    errno = 0;
    const std::unique_ptr<cpufreq_policy, void (*)(cpufreq_policy*)> now(::cpufreq_get_policy(policy.value),
                                                                         ::cpufreq_put_policy);
    if (!now) {
        const int why = errno == 0 ? EIO : errno;
        return is_on_line(policy).and_then([&](bool on_line) -> Result<std::optional<CpufreqSettings>> {
            return on_line ? sysfs::refused(directory(policy), why) : Result<std::optional<CpufreqSettings>>();
        });
    }
    if (!khz(now->min) || !maximum(now->max)) {
        return failure(fmt::format("{}: scaling_min_freq and scaling_max_freq are not frequencies: {} and {}",
                                   directory(policy).string(), now->min, now->max));
    }
    sysfs::Attribute speed_file(directory(policy) / "scaling_setspeed");  // not kept open, because reads are rare
    return frequency_in(speed_file).map([&](const std::optional<Khz>& speed) {
        return std::optional(CpufreqSettings{
            .governor = now->governor, .min = *khz(now->min), .max = *maximum(now->max), .speed = speed});
    });
}

// Without scaling_boost_frequencies, which lists the same whether boost is on or off: cpuinfo_max_freq shows it.
Result<std::optional<std::string>> Cpupower::outline(PolicyId policy) const {
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
sysfs::Attribute& Cpupower::attribute(PolicyId policy, Frequency which) const {
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

Result<std::optional<Khz>> Cpupower::frequency(PolicyId policy, Frequency which) const {
    return frequency_in(attribute(policy, which), which == Frequency::Max ? maximum : khz);
}

Status Cpupower::set_frequency(PolicyId policy, Frequency which, Khz khz) {
    std::array<char, kLongestNumber> buffer{};
    char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size() - 1, khz.value).ptr;
    *end = '\n';
    const std::string_view text(buffer.data(), static_cast<std::size_t>(end + 1 - buffer.data()));
    return attribute(policy, which).write(text);
}

void Cpupower::wait_for_maximum() {
    const timespec moment{.tv_sec = 0, .tv_nsec = 20'000'000};
    ::nanosleep(&moment, nullptr);
}

// We avoid cpufreq_set_frequency() and cpufreq_set_policy(), which also write other values.
Status Cpupower::set_governor(PolicyId policy, const std::string& governor) {
    std::string name = governor;
    errno = 0;
    if (::cpufreq_modify_policy_governor(policy.value, name.data()) == 0) {
        return {};
    }
    const int why = errno == 0 ? EINVAL : errno;  // no errno: libcpupower did not even try
    return failure(fmt::format("{}: cannot be set to \"{}\": {}", (directory(policy) / "scaling_governor").string(),
                               governor, std::generic_category().message(why)));
}

Result<std::optional<std::string>> Cpupower::epp(PolicyId policy) const {
    return sysfs::read_line(directory(policy) / kEpp)
        .and_then([&](std::optional<std::string>&& line) -> Result<std::optional<std::string>> {
            const bool known = !line || is_name(*line);
            return known ? Result<std::optional<std::string>>(std::move(line))
                         : failure(fmt::format("{}: not a preference", (directory(policy) / kEpp).string()));
        });
}

Status Cpupower::set_epp(PolicyId policy, const std::string& epp) {
    return sysfs::write_line(directory(policy) / kEpp, epp);
}

Result<Tunables> Cpupower::tunables(PolicyId policy, const std::string& governor) const {
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

Status Cpupower::set_tunable(PolicyId policy, const std::string& governor, const std::string& name,
                             const std::string& value) {
    if (!is_name(governor) || !is_name(name)) {
        return failure(fmt::format("\"{}\" of \"{}\" is not a tunable of a governor", name, governor));
    }
    return sysfs::write_line(tunables_of(policy, governor) / name, value);
}

}  // namespace happe
