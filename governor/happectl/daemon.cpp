// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <string_view>

namespace happe::ctl {

const Address kGovernor{"org.happe.Governor1", "/org/happe/Governor1", "org.happe.Governor1"};

namespace {

constexpr std::string_view kAbsent =
    "happed is not running: systemctl start happed; `happectl doctor` says what is in its way";
constexpr std::string_view kSilent = "happed does not answer: systemctl status happed; journalctl -u happed -b";
constexpr std::string_view kGone = "the connection to the system bus or to happed broke: systemctl status happed";
constexpr std::string_view kOther = "happed and happectl do not understand each other; are both of one version?";

// Where an explanation has none, the daemon's words alone are shown; where it ends with ": ", they follow.
struct Meaning {
    std::string_view name;
    int status;
    std::string_view explanation;
    std::string_view advice;
};

constexpr std::array kMeanings = {
    Meaning{"org.freedesktop.DBus.Error.ServiceUnknown", EX_UNAVAILABLE, kAbsent, ""},
    Meaning{"org.freedesktop.DBus.Error.NameHasNoOwner", EX_UNAVAILABLE, kAbsent, ""},
    Meaning{"org.freedesktop.DBus.Error.NoReply", EX_UNAVAILABLE, kSilent, ""},
    Meaning{"org.freedesktop.DBus.Error.Timeout", EX_UNAVAILABLE, kSilent, ""},
    Meaning{"System.Error.ETIMEDOUT", EX_UNAVAILABLE, kSilent, ""},
    Meaning{"org.freedesktop.DBus.Error.Disconnected", EX_UNAVAILABLE, kGone, ""},
    Meaning{"System.Error.ECONNRESET", EX_UNAVAILABLE, kGone, ""},
    Meaning{"System.Error.ENOTCONN", EX_UNAVAILABLE, kGone, ""},
    Meaning{"System.Error.EPIPE", EX_UNAVAILABLE, kGone, ""},
    Meaning{"org.freedesktop.DBus.Error.UnknownMethod", EX_PROTOCOL, kOther, ""},
    Meaning{"org.freedesktop.DBus.Error.UnknownInterface", EX_PROTOCOL, kOther, ""},
    Meaning{"org.freedesktop.DBus.Error.UnknownObject", EX_PROTOCOL, kOther, ""},
    Meaning{kUnreadable, EX_PROTOCOL, kOther, ""},
    Meaning{"org.freedesktop.DBus.Error.AccessDenied", EX_NOPERM, "not allowed: ", "an administrator may (sudo)"},
    Meaning{"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", EX_NOPERM,
            "not allowed: ", "nobody could be asked for a password here: use sudo"},
    Meaning{"org.freedesktop.DBus.Error.InvalidArgs", EX_DATAERR, "", ""},
    Meaning{"org.freedesktop.DBus.Error.LimitsExceeded", EX_DATAERR, "", ""},
    Meaning{"org.happe.Governor1.Error.NotActive", EX_NOPERM, "", "it is for whoever is served: happectl status"},
    Meaning{"org.happe.Governor1.Error.NotFound", EX_NOINPUT, "", ""},
    Meaning{"org.happe.Governor1.Error.Busy", EX_TEMPFAIL, "", "try again when it is over: happectl status"},
    Meaning{"org.happe.Governor1.Error.Failed", EX_IOERR, "", "journalctl -u happed -b has more"},
};

Outcome<wire::Nothing> as_outcome(bool good) {
    return good ? Outcome<wire::Nothing>() : tl::unexpected<Trouble>(explain({kUnreadable, ""}));
}

// Calibrated frequencies, {listed kHz: real kHz}.
bool read_calibration(sd_bus_message* message, nlohmann::json& value) {
    if (sd_bus_message_enter_container(message, SD_BUS_TYPE_VARIANT, "a{uu}") <= 0 ||
        sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "{uu}") <= 0) {
        return false;
    }
    value = nlohmann::json::object();
    std::uint32_t listed = 0;
    std::uint32_t real = 0;
    int read = 0;
    while ((read = sd_bus_message_read(message, "{uu}", &listed, &real)) > 0) {
        value[std::to_string(listed)] = real;
    }
    return read == 0 && sd_bus_message_exit_container(message) >= 0 && sd_bus_message_exit_container(message) >= 0;
}

// A value of a{sv} in JSON. False if it's of no type that a setting has.
bool read_setting(sd_bus_message* message, nlohmann::json& value) {
    char type = 0;
    const char* contents = nullptr;
    if (sd_bus_message_peek_type(message, &type, &contents) <= 0 || type != SD_BUS_TYPE_VARIANT) {
        return false;
    }
    const auto take = [&]<typename T>(T read) {
        const bool good = wire::read_variant(message, read);
        value = std::move(read);
        return good;
    };
    const std::string_view signature = contents;
    if (signature == "b") {
        return take(false);
    }
    if (signature == "u") {
        return take(std::uint32_t{});
    }
    if (signature == "x") {
        return take(std::int64_t{});
    }
    if (signature == "a{uu}") {
        return read_calibration(message, value);
    }
    return signature == "s" ? take(std::string()) : sd_bus_message_skip(message, "v") >= 0;
}

bool read_settings(sd_bus_message* message, std::map<std::string, nlohmann::json>& settings) {
    return sd_bus_message_enter_container(message, SD_BUS_TYPE_VARIANT, "a{sv}") > 0 &&
           wire::read_dictionary(message,
                                 [&](const std::string& name) { return read_setting(message, settings[name]); }) &&
           sd_bus_message_exit_container(message) >= 0;
}

bool read_ladders(sd_bus_message* message, std::vector<PolicyLadder>& ladders) {
    std::vector<std::tuple<std::uint16_t, std::vector<std::uint32_t>, std::vector<std::uint32_t>>> read;
    const bool good = wire::read_variant(message, read);
    for (auto& [policy, cpus, khz] : read) {
        ladders.push_back({policy, std::move(cpus), std::move(khz)});
    }
    return good;
}

bool read_targets(sd_bus_message* message, std::map<std::uint16_t, std::uint32_t>& targets) {
    std::vector<std::tuple<std::uint16_t, std::uint32_t>> read;
    const bool good = wire::read_variant(message, read);
    for (const auto& [policy, khz] : read) {
        targets[policy] = khz;
    }
    return good;
}

bool read_activity(sd_bus_message* message, std::vector<PolicyActivity>& activity) {
    std::vector<std::tuple<std::uint16_t, std::uint32_t, std::uint32_t, std::uint8_t>> read;
    const bool good = wire::read_variant(message, read);
    for (const auto& [policy, khz, util_ppm, level] : read) {
        activity.push_back({policy, khz, util_ppm, level});
    }
    return good;
}

using Take = bool (*)(sd_bus_message*, DaemonState&);

template <auto Member>
bool take(sd_bus_message* message, DaemonState& state) {
    return wire::read_variant(message, state.*Member);
}

const std::map<std::string, Take>& properties() {
    using State = DaemonState;
    static const std::map<std::string, Take> known = {
        {"Version", take<&State::version>},
        {"Backend", take<&State::backend>},
        {"State", take<&State::state>},
        {"Reason", take<&State::reason>},
        {"Run", take<&State::run>},
        {"Keyboards", take<&State::keyboards>},
        {"Holds", take<&State::holds>},
        {"User", take<&State::user>},
        {"Application", take<&State::application>},
        {"Profile", take<&State::profile>},
        {"Ladders", [](sd_bus_message* from, State& state) { return read_ladders(from, state.ladders); }},
        {"Settings", [](sd_bus_message* from, State& state) { return read_settings(from, state.settings); }},
        {"Targets", [](sd_bus_message* from, State& state) { return read_targets(from, state.targets); }},
        {"Sample", [](sd_bus_message* from, State& state) { return read_activity(from, state.activity); }},
    };
    return known;
}

bool append_seal(sd_bus_message* message, const std::string& seal) {
    return sd_bus_message_open_container(message, SD_BUS_TYPE_DICT_ENTRY, "sv") >= 0 &&
           sd_bus_message_append(message, "s", "sealed") >= 0 &&
           sd_bus_message_open_container(message, SD_BUS_TYPE_VARIANT, "ay") >= 0 &&
           sd_bus_message_append_array(message, SD_BUS_TYPE_BYTE, seal.data(), seal.size()) >= 0 &&
           sd_bus_message_close_container(message) >= 0 && sd_bus_message_close_container(message) >= 0;
}

bool append_what(sd_bus_message* message, const RunPlan& plan) {
    const auto text = [&](const char* name, const std::string& value) {
        return sd_bus_message_append(message, "{sv}", name, "s", value.c_str()) >= 0;
    };
    const auto number = [&](const char* name, const std::optional<std::uint32_t>& value) {
        return !value || sd_bus_message_append(message, "{sv}", name, "u", *value) >= 0;
    };
    const auto in_clear = [&] {
        return text("condition", plan.condition) && text("subject", plan.subject) &&
               text("application", plan.application) && number("sampling_rate_us", plan.sampling_rate_us) &&
               number("up_threshold", plan.up_threshold) &&
               (!plan.indicator || sd_bus_message_append(message, "{sv}", "indicator", "b", 1) >= 0) &&
               sd_bus_message_append(message, "{sv}", "blind", "b", plan.blind ? 1 : 0) >= 0;
    };
    const auto sealed = [&] {
        return append_seal(message, plan.seal) && text("study", plan.study) && text("run", plan.run);
    };
    return sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}") >= 0 &&
           (plan.seal.empty() ? in_clear() : sealed()) && sd_bus_message_close_container(message) >= 0;
}

}  // namespace

Trouble explain(const BusError& error) {
    const auto* const found = std::ranges::find(kMeanings, std::string_view(error.name), &Meaning::name);
    if (found == kMeanings.end()) {
        return {EX_UNAVAILABLE, fmt::format("happed: {} ({})", error.message, error.name)};
    }
    const bool own_words = found->explanation.empty() || found->explanation.ends_with(": ");
    std::string message(found->explanation);
    message += own_words ? error.message : "";
    message += found->advice.empty() ? "" : fmt::format("; {}", found->advice);
    return {found->status, message};
}

Outcome<Daemon> Daemon::connect() {
    auto bus = Bus::open();
    if (!bus) {
        return pass_on(bus);
    }
    return Daemon(*std::move(bus));
}

template <typename T, typename... Arguments>
Outcome<T> Daemon::call(std::chrono::microseconds patience, const char* member, const char* types,
                        Arguments... arguments) {
    const Message message = bus_.request(kGovernor, member);
    if (const int error = sd_bus_message_append(message.get(), types, arguments...); error < 0) {
        return tl::unexpected<Trouble>(explain(Bus::local_error(error)));
    }
    auto answer = Bus::first<T>(bus_.send(message, patience));
    return answer ? Outcome<T>(*std::move(answer)) : tl::unexpected<Trouble>(explain(answer.error()));
}

Outcome<DaemonState> Daemon::state(std::chrono::microseconds patience) {
    const Address all{kGovernor.service, kGovernor.path, "org.freedesktop.DBus.Properties"};
    const Message message = bus_.request(all, "GetAll");
    sd_bus_message_append(message.get(), "s", kGovernor.interface.c_str());
    const auto answer = bus_.send(message, patience);
    if (!answer) {
        return tl::unexpected<Trouble>(explain(answer.error()));
    }
    DaemonState state;
    const bool good = wire::read_dictionary(answer->get(), [&](const std::string& name) {
        const auto known = properties().find(name);
        return known == properties().end() ? sd_bus_message_skip(answer->get(), "v") >= 0
                                           : known->second(answer->get(), state);
    });
    return as_outcome(good && !state.state.empty()).map([&](wire::Nothing) { return std::move(state); });
}

Outcome<wire::Nothing> Daemon::feedback(const std::string& key) {
    return call<wire::Nothing>(kPrompt, "Feedback", "s", key.c_str());
}

Outcome<std::uint32_t> Daemon::hold(const std::string& application, const std::string& reason) {
    return call<std::uint32_t>(kAskingSomebody, "Hold", "ss", application.c_str(), reason.c_str());
}

Outcome<std::vector<NamedProfile>> Daemon::list_profiles(const std::string& user) {
    using Read = std::vector<std::tuple<std::string, std::vector<std::uint32_t>>>;
    return call<Read>(kAskingSomebody, "ListProfiles", "s", user.c_str()).map([](const Read& read) {
        std::vector<NamedProfile> profiles;
        profiles.reserve(read.size());
        for (const auto& [application, khz] : read) {
            profiles.push_back({application, khz});
        }
        return profiles;
    });
}

Outcome<std::vector<std::uint32_t>> Daemon::get_profile(const std::string& user, const std::string& application) {
    return call<std::vector<std::uint32_t>>(kAskingSomebody, "GetProfile", "ss", user.c_str(), application.c_str());
}

Outcome<std::vector<LearnedEvent>> Daemon::list_events(const std::string& user, const std::string& application,
                                                       std::int64_t after, std::uint32_t most) {
    using Row = std::tuple<std::int64_t, std::int64_t, std::string, std::uint16_t, std::uint32_t, std::uint32_t,
                           std::uint32_t, std::uint32_t, std::uint32_t>;
    const auto read =
        call<std::vector<Row>>(kAskingSomebody, "ListEvents", "ssxu", user.c_str(), application.c_str(), after, most);
    return read.map([](const std::vector<Row>& rows) {
        std::vector<LearnedEvent> events;
        events.reserve(rows.size());
        for (const auto& row : rows) {
            events.push_back(std::apply([](const auto&... value) { return LearnedEvent{value...}; }, row));
        }
        return events;
    });
}

Outcome<wire::Nothing> Daemon::reset_profile(const std::string& user, const std::string& application) {
    return call<wire::Nothing>(kAskingSomebody, "ResetProfile", "ss", user.c_str(), application.c_str());
}

Outcome<std::string> Daemon::export_profiles(const std::string& user) {
    return call<std::string>(kAskingSomebody, "ExportProfiles", "s", user.c_str());
}

Outcome<std::uint32_t> Daemon::import_profiles(const std::string& user, const std::string& document) {
    return call<std::uint32_t>(kAskingSomebody, "ImportProfiles", "ss", user.c_str(), document.c_str());
}

Outcome<std::string> Daemon::start_run(const RunPlan& plan) {
    const Message message = bus_.request(kGovernor, "StartRun");
    if (!append_what(message.get(), plan)) {
        return trouble(EX_DATAERR, "the run's description does not fit into a message");
    }
    auto answer = Bus::first<std::string>(bus_.send(message, kAskingSomebody));
    return answer ? Outcome<std::string>(*std::move(answer)) : tl::unexpected<Trouble>(explain(answer.error()));
}

// The answer's descriptor is closed with the answer: it is duplicated.
Outcome<FileDescriptor> Daemon::stop_run(const std::string& run) {
    const Message message = bus_.request(kGovernor, "StopRun");
    sd_bus_message_append(message.get(), "s", run.c_str());
    const auto answer = bus_.send(message, kAskingSomebody);
    if (!answer) {
        return tl::unexpected<Trouble>(explain(answer.error()));
    }
    int trace = -1;
    if (sd_bus_message_read_basic(answer->get(), SD_BUS_TYPE_UNIX_FD, &trace) <= 0) {
        return tl::unexpected<Trouble>(explain({kUnreadable, ""}));
    }
    FileDescriptor own(::fcntl(trace, F_DUPFD_CLOEXEC, 3));
    return own ? Outcome<FileDescriptor>(std::move(own)) : trouble(EX_OSERR, "too many open files");
}

Outcome<std::string> Daemon::run_facts(const std::string& run) {
    return call<std::string>(kAskingSomebody, "RunFacts", "s", run.c_str());
}

Outcome<PublicKey> Daemon::device_key() {
    return call<std::vector<std::uint8_t>>(kPrompt, "DeviceKey", "")
        .and_then([](const std::vector<std::uint8_t>& bytes) -> Outcome<PublicKey> {
            PublicKey key{};
            if (bytes.size() != key.size()) {
                return tl::unexpected<Trouble>(explain({kUnreadable, ""}));
            }
            std::ranges::copy(bytes, key.begin());
            return key;
        });
}

Outcome<std::string> Daemon::learn_key(std::chrono::milliseconds limit) {
    return call<std::string>(limit + kAskingSomebody, "LearnKey", "u", static_cast<std::uint32_t>(limit.count()));
}

Outcome<wire::Nothing> Daemon::reload() {
    return call<wire::Nothing>(kAskingSomebody, "Reload", "");
}

}  // namespace happe::ctl
