// SPDX-License-Identifier: GPL-2.0-or-later
// org.happe.Governor1 in the governor's types, for happed and its clients. A test compares it with
// profiles/org.happe.Governor1.xml. docs/dbus.md explains each member.
#pragma once

#include "governor/bus/run_request.h"
#include "governor/bus/shown_state.h"
#include "governor/core/frequency_control.h"
#include "governor/documents/configuration.h"
#include "governor/store/learning_event.h"
#include "governor/system/device_key.h"
#include "governor/system/file_descriptor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace happe {

inline constexpr const char* kDaemonName = "org.happe.Governor1";  // the name on the bus, and the interface
inline constexpr const char* kDaemonPath = "/org/happe/Governor1";

// Why happed does not govern a policy.
struct ShownError {
    PolicyId policy;
    std::string message;
    bool operator==(const ShownError&) const = default;
};

struct ShownHold {
    std::string application;
    std::string reason;
    bool operator==(const ShownHold&) const = default;
};

// The properties.
struct Properties {
    std::string version;
    std::string backend;
    std::vector<Policy> policies;
    Domains domains;
    std::string state;
    std::string reason;
    std::vector<PolicyLimits> limits;
    std::vector<ShownError> errors;
    std::string database;
    std::map<std::string, OptionValue> settings;
    std::uint32_t keyboards = 0;
    std::vector<ShownHold> holds;
    std::vector<ShownHold> savers;  // programs that ask for one step lower
    std::string run;
    bool indicator = true;      // the battery indicator may be on the screen
    std::string source;         // the source of power; empty: unknown
    std::string epp;            // the preference that HAPPE sets; empty: none, or a run is on
    std::string power_profile;  // of the daemon of power profiles, to which HAPPE leaves the preference; empty: none
    // Private: empty for callers who must not see them.
    std::vector<Target> targets;
    std::string user;
    std::string application;
    std::optional<Uafp> profile;
    std::vector<SampledPolicy> sample;
    ShownDescent descent;
    std::int64_t fastest_us = 0;  // monotonic time of the last press that found the top; 0: none
};

// How happed announces a change of a property: never, with the new value, or (private) without it.
enum class Announced : std::uint8_t { Never, WithValue, PrivateWithoutValue, PrivateNever };

template <auto Member>
struct Property {
    static constexpr auto kMember = Member;
    const char* name;
    Announced announced;
    [[nodiscard]] constexpr bool is_private() const { return announced >= Announced::PrivateWithoutValue; }
};

inline constexpr std::tuple kDaemonProperties{
    Property<&Properties::version>{"Version", Announced::Never},
    Property<&Properties::backend>{"Backend", Announced::WithValue},
    Property<&Properties::policies>{"Ladders", Announced::WithValue},
    Property<&Properties::domains>{"Domains", Announced::WithValue},
    Property<&Properties::state>{"State", Announced::WithValue},
    Property<&Properties::reason>{"Reason", Announced::WithValue},
    Property<&Properties::limits>{"Limits", Announced::WithValue},
    Property<&Properties::errors>{"Errors", Announced::WithValue},
    Property<&Properties::database>{"Database", Announced::WithValue},
    Property<&Properties::settings>{"Settings", Announced::WithValue},
    Property<&Properties::keyboards>{"Keyboards", Announced::WithValue},
    Property<&Properties::holds>{"Holds", Announced::WithValue},
    Property<&Properties::savers>{"Savers", Announced::WithValue},
    Property<&Properties::run>{"Run", Announced::WithValue},
    Property<&Properties::indicator>{"Indicator", Announced::WithValue},
    Property<&Properties::source>{"Source", Announced::WithValue},
    Property<&Properties::epp>{"Epp", Announced::WithValue},
    Property<&Properties::power_profile>{"PowerProfile", Announced::WithValue},
    Property<&Properties::targets>{"Targets", Announced::PrivateWithoutValue},
    Property<&Properties::user>{"User", Announced::PrivateWithoutValue},
    Property<&Properties::application>{"Application", Announced::PrivateWithoutValue},
    Property<&Properties::profile>{"Profile", Announced::PrivateWithoutValue},
    Property<&Properties::sample>{"Sample", Announced::PrivateNever},
    Property<&Properties::descent>{"Descent", Announced::PrivateNever},
    Property<&Properties::fastest_us>{"Fastest", Announced::PrivateNever},
};

// A document of profiles, at most 1 MiB; other strings have at most 255 bytes.
struct ProfilesText {
    std::string text;
};

// One user's profile, as in ListProfiles.
struct ApplicationProfile {
    std::string application;
    Uafp uafp;
};

// A method, with the types of its result and arguments.
template <typename Returned, typename... Arguments>
struct Method {
    const char* name;
    const char* names;  // the arguments' names, then the result's; each ends with \0
};

namespace method {

inline constexpr Method<void, Key> kFeedback{"Feedback", "key\0"};
inline constexpr Method<std::string, FileDescriptor, std::string> kSetFocus{"SetFocus", "process\0hint\0application\0"};
inline constexpr Method<void> kClearFocus{"ClearFocus", ""};
inline constexpr Method<void, bool> kSetIdle{"SetIdle", "idle\0"};
inline constexpr Method<std::uint32_t, std::string, std::string> kHold{"Hold", "application\0reason\0cookie\0"};
inline constexpr Method<std::uint32_t, std::string, std::string> kSavePower{"SavePower",
                                                                            "application\0reason\0cookie\0"};
inline constexpr Method<void, std::uint32_t> kRelease{"Release", "cookie\0"};
inline constexpr Method<std::vector<ApplicationProfile>, std::string> kListProfiles{"ListProfiles", "user\0profiles\0"};
inline constexpr Method<Uafp, std::string, std::string> kGetProfile{"GetProfile", "user\0application\0khz\0"};
inline constexpr Method<std::vector<LearningEvent>, std::string, std::string, std::int64_t, std::uint32_t> kListEvents{
    "ListEvents", "user\0application\0after\0most\0events\0"};
inline constexpr Method<std::vector<UndoneLesson>, std::string, std::string, std::uint32_t> kUndo{
    "Undo", "user\0application\0most\0undone\0"};
inline constexpr Method<void, std::string, std::string> kResetProfile{"ResetProfile", "user\0application\0"};
inline constexpr Method<std::string, std::string> kExportProfiles{"ExportProfiles", "user\0document\0"};
inline constexpr Method<std::uint32_t, std::string, ProfilesText> kImportProfiles{"ImportProfiles",
                                                                                  "user\0document\0imported\0"};
inline constexpr Method<std::string, RunRequest> kStartRun{"StartRun", "what\0run\0"};
inline constexpr Method<FileDescriptor, std::string> kStopRun{"StopRun", "run\0trace\0"};
inline constexpr Method<std::string, std::string> kRunFacts{"RunFacts", "run\0document\0"};
inline constexpr Method<PublicKey> kDeviceKey{"DeviceKey", "key\0"};
inline constexpr Method<std::string, std::uint32_t> kLearnKey{"LearnKey", "timeout_ms\0key\0"};
inline constexpr Method<TimeSpent> kTimeSpent{"TimeSpent", "today\0"};
inline constexpr Method<void> kReload{"Reload", ""};

}  // namespace method
}  // namespace happe
