// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/documents/trace_reader.h"

#include "governor/documents/json_document.h"
#include "governor/documents/profile_document.h"
#include "governor/documents/run_plan.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

namespace happe {
namespace {

using json::Field;

constexpr std::int64_t kLongestPeriodUs = 3'600'000'000;
constexpr std::size_t kMaxPolicies = 1024;
constexpr std::size_t kMaxCpus = 65'536;
constexpr std::size_t kMaxPresses = 65'536;
constexpr std::size_t kMaxPatience = 65'536;

Khz khz(const Field& field) {
    return Khz{static_cast<std::uint32_t>(field.integer(1, kHighestKhz.value))};
}

MonoTime instant(const Field& field) {
    return MonoTime(Micros(field.integer(0, INT64_MAX)));
}

PolicyId policy_id(const std::string& text, const Field& field) {
    std::uint16_t id = 0;
    const auto* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, id);
    if (parsed.ec != std::errc() || parsed.ptr != end || text != std::to_string(id) ||
        PolicyId{id} > kHighestPolicyId) {
        field.refuse(fmt::format("a policy id is a number from 0 to {} without leading zeros", kHighestPolicyId.value));
    }
    return PolicyId{id};
}

std::vector<Khz> frequencies(const Field& array) {
    std::vector<Khz> result;
    for (const Field& item : array.items(1, Ladder::kMaxSteps)) {
        result.push_back(khz(item));
        if (result.size() > 1 && result.back() <= result[result.size() - 2]) {
            item.refuse("must be above the one before it");
        }
    }
    return result;
}

PolicyLadder policy_ladder(PolicyId id, const Field& ladder, const std::optional<Field>& speeds) {
    const std::vector<Khz> names = frequencies(ladder);
    const std::vector<Khz> real = speeds ? frequencies(*speeds) : names;
    const auto result = Ladder::from(names, real);
    if (!result) {
        speeds->refuse(fmt::format("must have a speed for each of the ladder's {} frequencies", names.size()));
    }
    return {id, *result};
}

std::vector<PolicyLadder> ladders(const Field& header) {
    const auto calibrated = header.find("calibrated_khz");
    std::vector<PolicyLadder> result;
    const Field all = header.at("ladders_khz");
    for (const auto& [name, ladder] : all.members(1, kMaxPolicies)) {
        const PolicyId id = policy_id(name, ladder);
        result.push_back(policy_ladder(id, ladder, calibrated ? calibrated->find(name.c_str()) : std::nullopt));
    }
    if (calibrated) {
        for (const auto& [name, speeds] : calibrated->members(0, kMaxPolicies)) {
            if (!all.find(name.c_str())) {
                speeds.refuse("there is no ladder of this policy");
            }
        }
    }
    std::ranges::sort(result, {}, &PolicyLadder::id);
    return result;
}

PolicyId policy_of(const Field& field) {
    return PolicyId{static_cast<std::uint16_t>(field.integer(0, kHighestPolicyId.value))};
}

// Reads the domains. Each policy must be in exactly one.
Domains domains(const Field& array, const std::vector<PolicyLadder>& ladders) {
    Domains result;
    std::set<PolicyId> named;
    for (const Field& entry : array.items(1, kMaxPolicies)) {
        std::vector<PolicyId>& domain = result.emplace_back();
        for (const Field& item : entry.items(1, kMaxPolicies)) {
            domain.push_back(policy_of(item));
            if (!std::ranges::binary_search(ladders, domain.back(), {}, &PolicyLadder::id)) {
                item.refuse("there is no ladder of this policy");
            }
            if (!named.insert(domain.back()).second) {
                item.refuse("a policy can be in one domain only");
            }
        }
    }
    for (const PolicyLadder& policy : ladders) {
        if (!named.contains(policy.id)) {
            array.refuse(fmt::format("policy {} is in no domain", policy.id.value));
        }
    }
    return result;
}

Settings settings(const Field& header) {
    const bool extended = header.at("mode").one_of({"paper", "extended"}) == 1;
    const auto given = header.find("settings");
    Settings result{.extended = extended};
    if (!given) {
        return result;
    }
    if (!extended) {
        given->refuse("only with \"mode\":\"extended\"");
    }
    static_cast<void>(
        given->object({"warm_start", "middle_start", "hold", "descent", "felt", "floor_khz", "begin_low", "silent_top",
                       "start_percent", "hold_us", "faster_part", "again_us", "refused_part"}));
    for (const auto& [name, setting] :
         {std::pair{"warm_start", &Settings::warm_start}, std::pair{"middle_start", &Settings::middle_start},
          std::pair{"hold", &Settings::hold}, std::pair{"descent", &Settings::descent},
          std::pair{"felt", &Settings::felt}, std::pair{"begin_low", &Settings::begin_low},
          std::pair{"silent_top", &Settings::silent_top}}) {
        const auto field = given->find(name);
        result.*setting = field && field->boolean();
    }
    const auto floor = given->find("floor_khz");
    result.floor = Khz{static_cast<std::uint32_t>(floor ? floor->integer(0, kHighestKhz.value) : 0)};
    for (const auto& [name, setting, least, most] : {std::tuple{"start_percent", &Settings::start_percent, 1U, 100U},
                                                     std::tuple{"faster_part", &Settings::faster_part, 0U, 64U},
                                                     std::tuple{"refused_part", &Settings::refused_part, 0U, 64U}}) {
        const auto field = given->find(name);
        result.*setting = field ? static_cast<std::uint32_t>(field->integer(least, most)) : result.*setting;
    }
    for (const auto& [name, setting, least] : {std::tuple{"hold_us", &Settings::hold_time, Micros{1}},
                                               std::tuple{"again_us", &Settings::again, Micros{0}}}) {
        const auto field = given->find(name);
        result.*setting = field ? Micros(field->integer(least.count(), kLongestPeriodUs)) : result.*setting;
    }
    return result;
}

std::vector<std::pair<Served, Patience>> patience(const Field& header, const Settings& settings) {
    std::vector<std::pair<Served, Patience>> result;
    const auto given = header.find("patience");
    if (given && !settings.descent) {
        given->refuse("only with the setting descent");
    }
    const std::vector<Field> entries = given ? given->items(0, kMaxPatience) : std::vector<Field>();
    for (const Field& entry : entries) {
        static_cast<void>(entry.object({"user", "app", "wait_us", "quiet_us"}));
        Served whom{entry.at("user").name(), entry.at("app").name()};
        if (std::ranges::find(result, whom, &std::pair<Served, Patience>::first) != result.end()) {
            entry.refuse("a second one of the same user and application");
        }
        const Micros wait{entry.at("wait_us").integer(Patience::kFirst.count(), Patience::kMost.count())};
        const Micros quiet{entry.at("quiet_us").integer(0, Patience::kMost.count())};
        result.push_back({std::move(whom), {.wait = wait, .quiet = quiet}});
    }
    return result;
}

TraceHeader read_header(const Field& header) {
    static_cast<void>(header.object({"format", "mode", "feedback", "period_us", "keys", "ladders_khz", "domains",
                                     "uafp", "calibrated_khz", "epp", "settings", "patience"}));
    static_cast<void>(header.at("format").one_of({"happe-trace/1"}));
    const auto keys = header.find("keys");
    const auto epp = header.find("epp");
    const auto profiles = header.find("uafp");
    const auto together = header.find("domains");
    const std::vector<PolicyLadder> policies = ladders(header);
    const Settings rules = settings(header);
    return {.settings = rules,
            .immediate = header.at("feedback").one_of({"next-sample", "immediate"}) == 1,
            .period = Micros(header.at("period_us").integer(1, kLongestPeriodUs)),
            .sham = keys && keys->one_of({"act", "sham"}) == 1,
            .epp = epp ? read_epp(*epp) : std::string(),
            .ladders = policies,
            .domains = together ? domains(*together, policies) : Domains(),
            .profiles = profiles ? profile_list(*profiles) : std::vector<StoredProfile>(),
            .patience = patience(header, rules)};
}

TracedPolicy traced_policy(const Field& entry, const std::vector<PolicyId>& known) {
    static_cast<void>(entry.object({"id", "cur_khz", "ran_khz", "limit_khz", "util_ppm"}));
    const Field id = entry.at("id");
    const auto optional_khz = [&](const char* name) {
        const auto field = entry.find(name);
        return field ? std::optional(khz(*field)) : std::nullopt;
    };
    TracedPolicy policy{.id = policy_of(id),
                        .current = optional_khz("cur_khz"),
                        .ran = optional_khz("ran_khz"),
                        .limit = optional_khz("limit_khz"),
                        .cpus = {}};
    if (!std::ranges::binary_search(known, policy.id)) {
        id.refuse("the header has no ladder of this policy");
    }
    for (const Field& cpu : entry.at("util_ppm").items(1, kMaxCpus)) {
        policy.cpus.push_back(Ppm{static_cast<std::uint32_t>(cpu.integer(0, kOne.value))});
    }
    return policy;
}

std::vector<TracedPolicy> traced_policies(const Field& array, const std::vector<PolicyId>& known) {
    std::vector<TracedPolicy> policies;
    for (const Field& entry : array.items(0, kMaxPolicies)) {
        policies.push_back(traced_policy(entry, known));
        if (std::ranges::count(policies, policies.back().id, &TracedPolicy::id) > 1) {
            entry.at("id").refuse("each policy can be listed only once");
        }
    }
    std::ranges::sort(policies, {}, &TracedPolicy::id);
    return policies;
}

std::optional<Served> served(const Field& line) {
    const Field user = line.at("user");
    const Field app = line.at("app");
    std::optional<std::string> user_name = user.is_null() ? std::nullopt : std::optional(user.name());
    std::optional<std::string> app_name = app.is_null() ? std::nullopt : std::optional(app.name());
    if (!user_name || !app_name) {
        return std::nullopt;
    }
    return Served{*std::move(user_name), *std::move(app_name)};
}

std::optional<PowerSource> source(const Field& line) {
    const auto given = line.find("source");
    return given ? std::optional(given->one_of({"mains", "battery"}) == 0 ? PowerSource::Mains : PowerSource::Battery)
                 : std::nullopt;
}

// Reads the presses of one line. `last_*`: the previous press of each key, which this updates.
std::vector<Press> presses(const Field& array, MonoTime end, std::optional<MonoTime>& last_performance,
                           std::optional<MonoTime>& last_power) {
    std::vector<Press> result;
    for (const Field& entry : array.items(0, kMaxPresses)) {
        static_cast<void>(entry.object({"t_us", "key"}));
        const bool power = entry.at("key").one_of({"performance", "power"}) == 1;
        const Press press{power ? Key::Power : Key::Performance, instant(entry.at("t_us"))};
        std::optional<MonoTime>& last = power ? last_power : last_performance;
        if (press.at > end) {
            entry.at("t_us").refuse("later than the line's t_us");
        }
        if (last && press.at < *last) {
            entry.at("t_us").refuse("earlier than this key's press before it");
        }
        last = press.at;
        result.push_back(press);
    }
    return result;
}

}  // namespace

TraceReader::TraceReader(std::istream& stream, std::string name) : stream_(stream), name_(std::move(name)) {}

// Keeps at most kMaxText + 1 bytes of a line, enough for parse() to refuse a line that is too long.
bool TraceReader::read_line() {
    line_.clear();
    std::streambuf& buffer = *stream_.rdbuf();
    for (int byte = buffer.sbumpc(); byte != std::char_traits<char>::eof(); byte = buffer.sbumpc()) {
        if (byte == '\n' || line_.size() > json::kMaxText) {
            ++number_;
            return true;
        }
        line_.push_back(static_cast<char>(byte));
    }
    number_ += line_.empty() ? 0 : 1;
    return !line_.empty();
}

tl::unexpected<Error> TraceReader::here(const std::string& message) const {
    return failure(fmt::format("{}:{}: {}", name_, number_, message));
}

Result<TraceHeader> TraceReader::header() try {
    if (!read_line()) {
        number_ = 1;
        return here("empty; a trace begins with a header, see happe-sim replay --help");
    }
    const nlohmann::json parsed = json::parse(line_);
    TraceHeader header = read_header(Field(parsed, ""));
    std::ranges::transform(header.ladders, std::back_inserter(known_), &PolicyLadder::id);
    return header;
} catch (const json::FieldError& error) {
    return here(error.what());
}

Result<std::optional<TraceObservation>> TraceReader::next() try {
    if (!read_line()) {
        return std::nullopt;
    }
    const nlohmann::json parsed = json::parse(line_);
    const Field line(parsed, "");
    static_cast<void>(line.object({"t_us", "user", "app", "source", "policies", "keys", "power_saver", "present",
                                   "idle_us", "front_ppm", "targets"}));
    const MonoTime at = instant(line.at("t_us"));
    if (last_ && at <= *last_) {
        line.at("t_us").refuse("must be later than the line before");
    }
    const auto keys = line.find("keys");
    const auto saver = line.find("power_saver");
    const auto present = line.find("present");
    const auto idle = line.find("idle_us");
    const auto front = line.find("front_ppm");
    TraceObservation seen{.at = at,
                          .served = served(line),
                          .policies = traced_policies(line.at("policies"), known_),
                          .source = source(line),
                          .presses = keys ? presses(*keys, at, last_performance_, last_power_) : std::vector<Press>(),
                          .power_saver = saver && saver->boolean(),
                          .present = present && present->boolean(),
                          .idle = Micros(idle ? idle->integer(0, kLongestPeriodUs) : 0),
                          .front = Ppm{static_cast<std::uint32_t>(front ? front->integer(0, kMostWork.value) : 0)}};
    last_ = at;
    return seen;
} catch (const json::FieldError& error) {
    return here(error.what());
}

}  // namespace happe
