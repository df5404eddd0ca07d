// SPDX-License-Identifier: GPL-2.0-or-later
// Whom the daemon serves at this moment, and if nobody, why: docs/daemon.md, "Who is served". No input or output.
#pragma once

#include "governor/bus/logind.h"
#include "governor/core/focus_source.h"

#include <cstdint>
#include <optional>
#include <string>

namespace happe {

enum class State : std::uint8_t { Serving, Released, Held, Run, Contested };

// A study's run. Kernel conditions serve nobody.
struct RunFocus {
    Served whom;
    bool happe = true;  // one of the HAPPE conditions
};

class Attention final : public FocusSource {
public:
    Attention() { decide(); }

    void session(const std::optional<Session>& active);
    void asleep(bool asleep);
    void application(std::string name);  // of the active session's user; "desktop" where none is known
    void holder(std::string who);        // "PROGRAM: REASON"; empty: nobody holds
    void run(std::optional<RunFocus> run);
    void contested(std::string by);  // what another program did; empty: nothing

    [[nodiscard]] const Served* served() const override { return served_ ? &*served_ : nullptr; }
    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] const std::string& reason() const { return reason_; }  // a sentence; empty while it serves
    [[nodiscard]] bool is_asleep() const { return asleep_; }
    [[nodiscard]] const std::optional<Session>& active_session() const { return session_; }

private:
    void decide();
    void nobody(State state, std::string reason);
    [[nodiscard]] std::string absence() const;

    std::optional<Session> session_;
    bool asleep_ = false;
    std::string application_ = "desktop";
    std::optional<uid_t> application_of_;  // whose it is: another user is at the desktop
    std::string holder_;
    std::optional<RunFocus> run_;
    std::string contested_;

    State state_ = State::Released;
    std::string reason_;
    std::optional<Served> served_;
};

}  // namespace happe
