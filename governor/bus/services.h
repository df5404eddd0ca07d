// SPDX-License-Identifier: GPL-2.0-or-later
// What callers on the bus may ask of the daemon, and what it shows them. docs/dbus.md has the meaning of each;
// daemon_object.h puts it on the bus.
#pragma once

#include "governor/bus/callers.h"
#include "governor/bus/daemon_interface.h"
#include "governor/bus/service_error.h"
#include "governor/core/profile_store.h"

#include <sys/types.h>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace happe {

// Who is at the machine and what they want now.
class AttentionService {
public:
    virtual Answer<void> feedback(const Caller& caller, Key key) = 0;
    virtual Answer<std::string> set_focus(const Caller& caller, const FileDescriptor& process,
                                          const std::string& hint) = 0;
    virtual Answer<void> clear_focus(const Caller& caller) = 0;
    virtual Answer<std::uint32_t> hold(const Caller& caller, const std::string& program, const std::string& reason) = 0;
    virtual Answer<std::uint32_t> save_power(const Caller& caller, const std::string& program,
                                             const std::string& reason) = 0;
    virtual Answer<void> release(const Caller& caller, std::uint32_t cookie) = 0;

    virtual ~AttentionService() = default;
};

class ProfileService {
public:
    virtual Answer<std::vector<StoredProfile>> list(const std::string& user) = 0;
    // The oldest `most` of those after number `after`.
    virtual Answer<std::vector<LearningEvent>> events(const Served& whom, std::int64_t after, std::uint32_t most) = 0;
    // The user's newest lessons that are not undone, at most `most`; of the named profile unless `profile` is empty.
    virtual Answer<std::vector<UndoneLesson>> undo(const std::string& user, const std::string& profile,
                                                   std::uint32_t most) = 0;
    virtual Answer<void> reset(const Served& whom) = 0;
    virtual Answer<void> replace(const std::vector<StoredProfile>& profiles) = 0;
    [[nodiscard]] virtual Khz f_ref() const = 0;  // whose kHz profiles speak

    virtual ~ProfileService() = default;
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

class TallyService {
public:
    virtual Answer<TimeSpent> today(const std::string& user) = 0;

    virtual ~TallyService() = default;
};

// The properties, and who may see those that are private: the served user and root; during a blind run its owner alone,
// during a sealed one nobody.
struct Shown : Properties {
    std::optional<uid_t> served_uid;
    bool blind = false;       // such a run is on
    std::string run_viewer;   // of a blind run its owner's bus name; empty: nobody
    std::string run_subject;  // whose profile the run serves, as the database names it; empty: no run
};

}  // namespace happe
