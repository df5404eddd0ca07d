// SPDX-License-Identifier: GPL-2.0-or-later
// What callers on the bus say about who is at the machine: focus, holds, feedback.
#pragma once

#include "governor/bus/services.h"
#include "governor/happed/attention.h"

#include <functional>
#include <map>
#include <string>

namespace happe {

class AttentionDesk final : public AttentionService {
public:
    static constexpr std::size_t kMostHolds = 16;  // of one caller

    struct Hooks {
        std::function<void()> changed;  // `attention` may have another answer now
        std::function<void(Key)> pressed;
    };

    AttentionDesk(Attention& attention, Hooks hooks) : attention_(attention), hooks_(std::move(hooks)) {}

    Answer<void> feedback(const Caller& caller, Key key) override;
    Answer<std::string> set_focus(const Caller& caller, const FileDescriptor& pidfd, const std::string& hint) override;
    Answer<void> clear_focus(const Caller& caller) override;
    Answer<std::uint32_t> hold(const Caller& caller, const std::string& program, const std::string& reason) override;
    Answer<void> release(const Caller& caller, std::uint32_t cookie) override;

    // A caller left the bus: what it held is dropped.
    void left(const std::string& bus_name);

    [[nodiscard]] std::vector<ShownHold> holds() const;

private:
    struct Held {
        std::string bus_name;
        std::string program;
        std::string reason;
    };
    [[nodiscard]] Answer<void> at_the_machine(const Caller& caller) const;
    void tell_holder();

    Attention& attention_;
    Hooks hooks_;
    std::map<std::uint32_t, Held> holds_;  // by cookie
    std::uint32_t last_cookie_ = 0;
    std::string focus_owner_;
};

}  // namespace happe
