// SPDX-License-Identifier: GPL-2.0-or-later
// Decides whom the daemon serves now, or why it serves nobody: docs/daemon.md, "Who is served". No input or output.
#pragma once

#include "governor/bus/logind.h"
#include "governor/bus/power_profiles.h"
#include "governor/core/focus_source.h"

#include <cstdint>
#include <optional>
#include <string>

namespace happe {

enum class State : std::uint8_t { Serving, Released, Aside, Held, Run, Contested };

// A study's run. Kernel conditions serve nobody.
struct RunFocus {
    Served whom;        // an empty application: whichever is in front
    bool happe = true;  // one of the HAPPE conditions
};

class Attention final : public FocusSource {
public:
    // The session agent says that nobody uses keyboard or pointer after this time: docs/dbus.md, SetIdle.
    static constexpr Micros kAgentDelay = std::chrono::minutes{1};

    Attention() { decide(); }

    void session(const std::optional<Session>& active);
    void asleep(bool asleep);
    void turned() { was_idle_ = is_idle(); }  // call after every turn
    // The one that the active session's user uses, or kNoApplication. `cgroup`: only this application's; empty: none.
    void application(std::string name, std::string cgroup = {});
    void input(std::optional<bool> idle);  // whether the session agent sees no input; empty: no agent says
    void hint_delay(Micros delay) { hint_delay_ = delay; }  // after which desktops set logind's idle hint
    void front_used(Micros time) { front_used_ = time; }    // CPU time since the last turn of cgroup_in_front()
    void holder(std::string who);                           // "PROGRAM: REASON"; empty: nobody holds
    void saver(bool wanted);                                // a program asks for one step lower; a run ignores this
    void power_profile(std::string active);                 // the desktop's, or empty; a run ignores it
    void run(std::optional<RunFocus> run);
    void aside(bool aside);               // on mains HAPPE governs nobody (mains.govern = false); a run ignores this
    void profiles_of(PowerSource whose);  // the profiles to serve; a run always uses Both
    void contested(std::string by);       // the other program's change; empty: no contest

    [[nodiscard]] const Served* served() const override { return served_ ? &*served_ : nullptr; }
    [[nodiscard]] bool saves_power() const override {
        return (saver_ || power_profile_ == PowerProfiles::kPowerSaver) && state_ == State::Serving;
    }
    [[nodiscard]] bool present() const override {
        return session_ && !was_idle_ && (agent_idle().has_value() || session_->tells_idle || has_participant());
    }
    [[nodiscard]] Micros idle() const override {
        return has_participant() ? Micros{0} : agent_idle().has_value() ? kAgentDelay : hint_delay_;
    }
    [[nodiscard]] Ppm front(Micros lasted) const override;
    [[nodiscard]] std::string cgroup_in_front() const;
    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] const std::string& reason() const { return reason_; }  // a sentence; empty if Serving or Run
    [[nodiscard]] bool is_asleep() const { return asleep_; }
    [[nodiscard]] const std::optional<Session>& active_session() const { return session_; }

private:
    void decide();
    [[nodiscard]] std::string in_front() const;
    [[nodiscard]] bool is_idle() const { return session_ && (session_->idle || agent_idle() == true); }
    [[nodiscard]] std::optional<bool> agent_idle() const {
        return session_ && agent_of_ == session_->uid ? agent_idle_ : std::nullopt;
    }
    [[nodiscard]] bool has_participant() const {
        return run_ && !run_->whom.app.empty();
    }  // who sits there for the run
    void nobody(State state, std::string reason);
    [[nodiscard]] std::string absence() const;

    std::optional<Session> session_;
    bool was_idle_ = false;  // now, or at some time since the last turn
    bool asleep_ = false;
    std::string application_ = kNoApplication;
    std::string cgroup_;
    std::optional<uid_t> application_of_;  // its user; any other user has kNoApplication
    Micros front_used_{0};
    std::optional<bool> agent_idle_;
    std::optional<uid_t> agent_of_;  // the agent's user
    Micros hint_delay_ = std::chrono::minutes{15};
    std::string holder_;
    bool saver_ = false;
    std::string power_profile_;
    std::optional<RunFocus> run_;
    std::optional<uid_t> run_of_;  // the user at the machine when the run began
    bool aside_ = false;
    PowerSource profiles_of_ = PowerSource::Both;
    std::string contested_;

    State state_ = State::Released;
    std::string reason_;
    std::optional<Served> served_;
};

}  // namespace happe
