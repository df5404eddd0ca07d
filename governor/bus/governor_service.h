// SPDX-License-Identifier: GPL-2.0-or-later
// What callers on the bus may ask of the daemon, and what it shows them, in the governor's types. docs/dbus.md has the
// meaning of each; governor_bus.h puts it on the bus.
#pragma once

#include "governor/core/frequency_control.h"
#include "governor/core/profile_store.h"
#include "governor/documents/configuration.h"
#include "governor/documents/run_plan.h"
#include "governor/store/learning_event.h"
#include "governor/system/device_key.h"
#include "governor/system/file_descriptor.h"

#include <sys/types.h>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace happe {

// By the bus's credentials.
struct Caller {
    std::string bus_name;  // unique: never given to another
    uid_t uid = 0;
    pid_t pid = 0;
};

struct ServiceError {
    enum class Kind : std::uint8_t { AccessDenied, InvalidArgument, LimitsExceeded, NotActive, NotFound, Busy, Failed };
    Kind kind;
    std::string message;
};
template <typename T>
using Answer = tl::expected<T, ServiceError>;

inline tl::unexpected<ServiceError> refusal(ServiceError::Kind kind, std::string message) {
    return tl::unexpected<ServiceError>(ServiceError{kind, std::move(message)});
}

// Who is at the machine and what they want now.
class AttentionService {
public:
    virtual Answer<void> feedback(const Caller& caller, Key key) = 0;
    virtual Answer<std::string> set_focus(const Caller& caller, int pidfd, const std::string& hint) = 0;
    virtual Answer<void> clear_focus(const Caller& caller) = 0;
    virtual Answer<std::uint32_t> hold(const Caller& caller, const std::string& program, const std::string& reason) = 0;
    virtual Answer<void> release(const Caller& caller, std::uint32_t cookie) = 0;

    virtual ~AttentionService() = default;
};

class ProfileService {
public:
    virtual Answer<std::vector<StoredProfile>> list(const std::string& user) = 0;
    // The oldest `most` of those after number `after`.
    virtual Answer<std::vector<LearningEvent>> events(const Served& whom, std::int64_t after, std::uint32_t most) = 0;
    virtual Answer<void> reset(const Served& whom) = 0;
    virtual Answer<void> replace(const std::vector<StoredProfile>& profiles) = 0;
    [[nodiscard]] virtual Khz f_ref() const = 0;  // whose kHz profiles speak

    virtual ~ProfileService() = default;
};

// A plan that only this laptop can read, and what it is asked to be of.
struct SealedRun {
    std::string seal;
    std::string study;
    std::string run;  // the study server's code
};

struct RunRequest {
    RunPlan plan;  // empty if it is sealed
    std::optional<SealedRun> sealed;
    bool blind = true;
};

class RunService {
public:
    virtual Answer<std::string> start(const Caller& caller, const RunRequest& request) = 0;
    // Whether this caller may stop it without polkit's leave.
    [[nodiscard]] virtual bool owns(const Caller& caller, const std::string& run) const = 0;
    virtual Answer<FileDescriptor> stop(const Caller& caller, const std::string& run) = 0;
    // Of a run that has ended: a document, docs/dbus.md.
    virtual Answer<std::string> facts(const Caller& caller, const std::string& run) = 0;
    virtual Answer<PublicKey> device_key() = 0;

    virtual ~RunService() = default;
};

class SettingsService {
public:
    virtual Answer<void> reload() = 0;
    // `learned` is called once, at the latest after the timeout; not at all if the caller leaves the bus.
    virtual void learn_key(const Caller& caller, Micros timeout, std::function<void(Answer<std::string>)> learned) = 0;

    virtual ~SettingsService() = default;
};

struct SampledPolicy {
    PolicyId policy;
    Khz current;
    Ppm utilisation;
    Level level;
    bool operator==(const SampledPolicy&) const = default;
};

// The properties.
struct Shown {
    std::string backend;
    std::vector<Policy> policies;
    std::string state;
    std::string reason;
    std::vector<std::pair<std::string_view, OptionValue>> settings;
    std::uint32_t keyboards = 0;
    std::vector<std::pair<std::string, std::string>> holds;
    std::string run;
    bool indicator = true;    // may be on the screen
    std::string run_subject;  // whose profile the run serves, as the database names it; empty: no run. Not a property

    // Private: for the served user and root; during a blind run for its owner alone, during a sealed one for nobody.
    std::optional<uid_t> served_uid;
    bool blind = false;      // such a run is on
    std::string run_viewer;  // of a blind run its owner's bus name; empty: nobody
    std::vector<Target> targets;
    std::string user;
    std::string application;
    std::optional<Uafp> profile;
    std::vector<SampledPolicy> sample;
};

}  // namespace happe
