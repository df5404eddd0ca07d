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
    // A desktop that reports idle times does so after at most this time without input: GNOME's longest.
    static constexpr Micros kIdleDelay = std::chrono::minutes{15};

    Attention() { decide(); }

    void session(const std::optional<Session>& active);
    void asleep(bool asleep);
    void turned() { was_idle_ = session_ && session_->idle; }  // call after every turn
    void application(std::string name);      // the one that the active session's user uses, or kNoApplication
    void holder(std::string who);            // "PROGRAM: REASON"; empty: nobody holds
    void saver(bool wanted);                 // a program asks for one step lower; a run ignores this
    void power_profile(std::string active);  // the desktop's, or empty; a run ignores it
    void run(std::optional<RunFocus> run);
    void aside(bool aside);               // on mains HAPPE governs nobody (mains.govern = false); a run ignores this
    void profiles_of(PowerSource whose);  // the profiles to serve; a run always uses Both
    void contested(std::string by);       // the other program's change; empty: no contest

    [[nodiscard]] const Served* served() const override { return served_ ? &*served_ : nullptr; }
    [[nodiscard]] bool saves_power() const override {
        return (saver_ || power_profile_ == PowerProfiles::kPowerSaver) && state_ == State::Serving;
    }
    [[nodiscard]] bool present() const override {
        return session_ && !was_idle_ && (session_->tells_idle || has_participant());
    }
    [[nodiscard]] Micros idle() const override { return has_participant() ? Micros{0} : kIdleDelay; }
    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] const std::string& reason() const { return reason_; }  // a sentence; empty if Serving or Run
    [[nodiscard]] bool is_asleep() const { return asleep_; }
    [[nodiscard]] const std::optional<Session>& active_session() const { return session_; }

private:
    void decide();
    [[nodiscard]] std::string in_front() const;
    [[nodiscard]] bool has_participant() const {
        return run_ && !run_->whom.app.empty();
    }  // who sits there for the run
    void nobody(State state, std::string reason);
    [[nodiscard]] std::string absence() const;

    std::optional<Session> session_;
    bool was_idle_ = false;  // now, or at some time since the last turn
    bool asleep_ = false;
    std::string application_ = kNoApplication;
    std::optional<uid_t> application_of_;  // its user; any other user has kNoApplication
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
