// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's configuration, while it runs.
#include "governor/happed/daemon.h"

#include "governor/happed/configuration_file.h"
#include "governor/system/monotonic_clock.h"

#include <sys/signalfd.h>
#include <utility>

namespace happe {

int Daemon::on_hangup(sd_event_source* /*source*/, const signalfd_siginfo* /*info*/, void* data) {
    auto* const self = static_cast<Daemon*>(data);
    if (const auto reloaded = self->reload(); !reloaded) {
        self->journal_.warning("the configuration stays as it was: " + reloaded.error().message);
    }
    return 0;
}

// After hotplug, another driver, boost switched. What cannot be governed as it is now is governed as it was.
void Daemon::follow_hardware() {
    auto control = open_control(configuration_);
    if (!control) {
        journal_.warning("the machine's cpufreq policies have changed: " + control.error().message);
        return;
    }
    journal_.info("the machine's cpufreq policies have changed");
    give_back();
    take_machine(*std::move(control));
    new_loop(loop_settings());
}

Answer<void> Daemon::reload() {
    if (run_) {
        return refusal(ServiceError::Kind::Busy, "a run is on: stop it first");
    }
    auto read = load_configuration(files_.configuration);
    if (!read) {
        return refusal(ServiceError::Kind::Failed, read.error().message);
    }
    const bool other = read->observe != configuration_.observe || read->calibration != configuration_.calibration;
    auto control = other ? open_control(*read) : nullptr;
    if (!control) {
        return refusal(ServiceError::Kind::Failed, control.error().message);
    }
    configuration_ = *std::move(read);
    if (other) {
        give_back();
        take_machine(*std::move(control));
    }
    follow_configuration();
    return {};
}

void Daemon::follow_configuration() {
    const KeyBindings bindings = *parse_key_bindings(configuration_.performance_key, configuration_.power_key);
    if (bindings != bindings_) {
        bindings_ = bindings;
        presses_.keys->rebind(bindings);
    }
    attention_.contested("");
    new_loop(loop_settings());
    show_settings();
    journal_.info("configuration read");
    attend();
}

void Daemon::learn_key(const Caller& caller, Micros timeout, std::function<void(Answer<std::string>)> learned) {
    if (learning_) {
        learned(refusal(ServiceError::Kind::Busy, "a key is being learned already"));
        return;
    }
    constexpr Micros kGrace = std::chrono::seconds{5};
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
    auto asked = KeyHelperCall::ask(
        event_, files_.keys.helper, LearnRequest{milliseconds}, timeout + kGrace,
        [this, learned](const Result<KeyAnswers>& answers) {
            const auto ended = std::move(learning_);  // once this returns
            if (!answers) {
                learned(refusal(ServiceError::Kind::Failed, answers.error().message));
            } else if (!answers->learned) {
                learned(refusal(ServiceError::Kind::NotFound, "no key that types no text was pressed within the time"));
            } else {
                learned(std::string(key_name(*answers->learned)));
            }
        });
    if (!asked) {
        learned(refusal(ServiceError::Kind::Failed, asked.error().message));
        return;
    }
    learning_ = *std::move(asked);
    learner_ = caller.bus_name;
}

}  // namespace happe
