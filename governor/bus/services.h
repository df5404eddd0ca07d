// SPDX-License-Identifier: GPL-2.0-or-later
// The requests that the daemon answers on the bus, and the state that it shows. docs/dbus.md explains each;
// DaemonObject puts them on the bus.
#pragma once

#include "governor/bus/bus.h"
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
    // The oldest `most` events with numbers above `after`.
    virtual Answer<std::vector<LearningEvent>> events(const Served& whom, std::int64_t after, std::uint32_t most) = 0;
    // Undoes the user's newest lessons that are not undone yet, at most `most`. Unless `profile` is empty, only lessons
    // of that profile.
    virtual Answer<std::vector<UndoneLesson>> undo(const std::string& user, const std::string& profile,
                                                   std::uint32_t most) = 0;
    virtual Answer<void> reset(const Served& whom) = 0;
    virtual Answer<void> replace(const std::vector<StoredProfile>& profiles) = 0;
    [[nodiscard]] virtual Khz f_ref() const = 0;  // profiles are in kHz of the ladder with this top

    virtual ~ProfileService() = default;
};

class RunService {
public:
    virtual Answer<std::string> start(const Caller& caller, const RunRequest& request) = 0;
    // True if this caller may stop the run without polkit's permission.
    [[nodiscard]] virtual bool owns(const Caller& caller, const std::string& run) const = 0;
    virtual Answer<FileDescriptor> stop(const Caller& caller, const std::string& run) = 0;
    // The facts of a run that has ended, as a document: docs/dbus.md.
    virtual Answer<std::string> facts(const Caller& caller, const std::string& run) = 0;
    virtual Answer<PublicKey> device_key() = 0;

    virtual ~RunService() = default;
};

class SettingsService {
public:
    virtual Answer<void> reload() = 0;
    // Calls `learned` once, at the latest after the timeout, but not if the caller leaves the bus.
    virtual void learn_key(const Caller& caller, Micros timeout, std::function<void(Answer<std::string>)> learned) = 0;

    virtual ~SettingsService() = default;
};

class TallyService {
public:
    virtual Answer<TimeSpent> today(const std::string& user) = 0;

    virtual ~TallyService() = default;
};

// The properties, and who may see the private ones: the served user and root; during a blind run only its owner; during
// a sealed run nobody.
struct Shown : Properties {
    std::optional<uid_t> served_uid;
    bool blind = false;       // a blind or sealed run is on
    std::string run_viewer;   // the bus name of a blind run's owner; empty: nobody
    std::string run_subject;  // the subject of the run, as the database names it; empty: no run

    // True for the subject, and for its names that end with a condition.
    [[nodiscard]] bool is_run_subject(const std::string& name) const {
        return !run_subject.empty() && name == run_subject;
    }
};

}  // namespace happe
