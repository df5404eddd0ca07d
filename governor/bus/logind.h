// SPDX-License-Identifier: GPL-2.0-or-later
// Asks systemd-logind who is at the machine: org.freedesktop.login1(5).
#pragma once

#include "governor/bus/bus.h"
#include "governor/system/file_descriptor.h"

#include <sys/types.h>
#include <functional>
#include <optional>
#include <string>

namespace happe {

struct Session {
    std::string id;
    std::string user;
    uid_t uid = 0;
    std::string session_class;  // "user", "greeter", "lock-screen", ...
    bool locked = false;
    bool idle = false;        // the desktop reports that nobody has used it recently
    bool tells_idle = false;  // the desktop reports this: it has done so in this session
    bool operator==(const Session&) const = default;
};

// Follows a seat's active session and the machine's sleep. Asks logind without waiting. Asks again whenever logind
// announces a change or has restarted.
class Logind {
public:
    // The bus's event loop calls `changed` after anything below has changed.
    Logind(sd_bus* bus, const std::string& seat, std::function<void()> changed);
    Logind(const Logind&) = delete;
    Logind& operator=(const Logind&) = delete;
    ~Logind() = default;

    // An error if the bus accepts no watch.
    [[nodiscard]] Status start();

    [[nodiscard]] const std::optional<Session>& active() const { return active_; }
    [[nodiscard]] bool asleep() const { return asleep_; }

    // Call this when happed is ready for sleep. Until then logind waits (a delay inhibitor), but not forever.
    void ready_to_sleep() { inhibitor_ = {}; }

private:
    static int on_change(sd_bus_message* message, void* self, sd_bus_error* error);
    static int on_owner(sd_bus_message* message, void* data, sd_bus_error* error);
    static int on_sleep(sd_bus_message* message, void* data, sd_bus_error* error);
    static int on_seat(sd_bus_message* answer, void* data, sd_bus_error* error);
    static int on_session(sd_bus_message* answer, void* data, sd_bus_error* error);
    static int on_inhibited(sd_bus_message* answer, void* data, sd_bus_error* error);

    void refresh();
    void ask_session(const char* id, const char* path);
    void inhibit();
    void become(std::optional<Session> session);

    sd_bus* bus_;
    std::string seat_path_;
    std::function<void()> changed_;
    std::optional<Session> active_;
    bool asleep_ = false;
    FileDescriptor inhibitor_;
    std::string session_id_;  // the session asked for
    std::string session_path_;
    bus::Slot seat_match_;
    bus::Slot session_match_;
    bus::Slot owner_match_;
    bus::Slot sleep_match_;
    bus::Slot seat_call_;
    bus::Slot session_call_;
    bus::Slot inhibit_call_;
};

}  // namespace happe
