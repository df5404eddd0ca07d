// SPDX-License-Identifier: GPL-2.0-or-later
// Requests on the bus that change whom HAPPE serves, or that count as presses: focus, holds, feedback.
#pragma once

#include "governor/bus/bus.h"
#include "governor/bus/daemon_interface.h"
#include "governor/happed/attention.h"

#include <functional>
#include <map>
#include <string>

namespace happe {

class AttentionRequests {
public:
    static constexpr std::size_t kMostHolds = 16;  // for each caller, both kinds together

    struct Hooks {
        std::function<void()> changed;     // `attention` may have another answer now
        std::function<bool(Key)> pressed;  // false: the caller presses too often
    };

    AttentionRequests(Attention& attention, Hooks hooks) : attention_(attention), hooks_(std::move(hooks)) {}

    Answer<void> feedback(const Caller& caller, Key key);
    Answer<std::string> set_focus(const Caller& caller, const FileDescriptor& pidfd, const std::string& hint);
    Answer<void> set_idle(const Caller& caller, bool idle);
    Answer<void> clear_focus(const Caller& caller);
    Answer<std::uint32_t> hold(const Caller& caller, const std::string& program, const std::string& reason);
    Answer<std::uint32_t> save_power(const Caller& caller, const std::string& program, const std::string& reason);
    Answer<void> release(const Caller& caller, std::uint32_t cookie);

    // Call when a caller has left the bus. Drops its holds and its focus.
    void left(const std::string& bus_name);

    [[nodiscard]] std::vector<ShownHold> holds() const { return shown(Kept::Hold); }
    [[nodiscard]] std::vector<ShownHold> savers() const { return shown(Kept::Saver); }

private:
    enum class Kept : std::uint8_t { Hold, Saver };
    struct Held {
        Kept kind;
        std::string bus_name;
        std::string program;
        std::string reason;
    };
    [[nodiscard]] Answer<void> at_the_machine(const Caller& caller) const;
    Answer<std::uint32_t> keep(Held wanted);
    [[nodiscard]] std::vector<ShownHold> shown(Kept kind) const;
    void tell_holders();

    Attention& attention_;
    Hooks hooks_;
    std::map<std::uint32_t, Held> holds_;  // by cookie
    std::uint32_t last_cookie_ = 0;
    std::string focus_owner_;
    std::string idle_owner_;
};

}  // namespace happe
