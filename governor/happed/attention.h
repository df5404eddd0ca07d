// SPDX-License-Identifier: GPL-2.0-or-later
// Whom the daemon serves at this moment, and if nobody, why: docs/daemon.md, "Who is served". No input or output.
#pragma once

#include "governor/bus/logind.h"
#include "governor/core/focus_source.h"

#include <cstdint>
#include <optional>
#include <string>

namespace happe {

enum class State : std::uint8_t { Serving, Released, Aside, Held, Run, Contested };

// A study's run. Kernel conditions serve nobody.
struct RunFocus {
    Served whom;  // an empty application: whichever is in front
    bool happe = true;  // one of the HAPPE conditions
};

class Attention final : public FocusSource {
public:
    Attention() { decide(); }

    void session(const std::optional<Session>& active);
    void asleep(bool asleep);
    void application(std::string name);  // of the active session's user; "desktop" where none is known
    void holder(std::string who);        // "PROGRAM: REASON"; empty: nobody holds
    void saver(bool wanted);             // somebody asks for one step lower; a run does not hear it
    void run(std::optional<RunFocus> run);
    void aside(bool aside);               // on mains, as the configuration says; not from a run
    void profiles_of(PowerSource whose);  // which are served; a run has those of both
    void contested(std::string by);       // what another program did; empty: nothing

    [[nodiscard]] const Served* served() const override { return served_ ? &*served_ : nullptr; }
    [[nodiscard]] bool saves_power() const override { return saver_ && state_ == State::Serving; }
    [[nodiscard]] bool present() const override { return session_ && !session_->idle; }
    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] const std::string& reason() const { return reason_; }  // a sentence; empty while it serves
    [[nodiscard]] bool is_asleep() const { return asleep_; }
    [[nodiscard]] const std::optional<Session>& active_session() const { return session_; }

private:
    void decide();
    [[nodiscard]] std::string in_front() const;
    void nobody(State state, std::string reason);
    [[nodiscard]] std::string absence() const;

    std::optional<Session> session_;
    bool asleep_ = false;
    std::string application_ = "desktop";
    std::optional<uid_t> application_of_;  // whose it is: another user is at the desktop
    std::string holder_;
    bool saver_ = false;
    std::optional<RunFocus> run_;
    std::optional<uid_t> run_of_;  // who was at the machine when it began
    bool aside_ = false;
    PowerSource profiles_of_ = PowerSource::Both;
    std::string contested_;

    State state_ = State::Released;
    std::string reason_;
    std::optional<Served> served_;
};

}  // namespace happe
