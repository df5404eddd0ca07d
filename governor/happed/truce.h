// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "governor/system/alarm.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace happe {

// After a contest: when the other program has been quiet for long enough that HAPPE may try again. Long enough are 30
// periods, and twice as many each time that HAPPE has not governed for longer than that before the next contest; an
// hour at most.
class Truce {
public:
    // `scene`: the current values of what the other program sets. `over` is called once for each begin(), unless
    // cancel() comes first. An error if the event loop, which outlives it, takes no alarm.
    static Result<std::unique_ptr<Truce>> create(EventLoop& event, std::function<std::string()> scene,
                                                 std::function<void()> over);
    Truce(const Truce&) = delete;
    Truce& operator=(const Truce&) = delete;
    ~Truce() = default;

    void begin(MonoTime now, Micros period);
    void cancel();  // and the next begins again

private:
    Truce(std::function<std::string()> scene, std::function<void()> over)
        : scene_(std::move(scene)), over_(std::move(over)) {}
    void look(MonoTime now);

    std::function<std::string()> scene_;
    std::function<void()> over_;
    std::unique_ptr<Alarm> alarm_;
    std::string seen_;
    MonoTime quiet_since_;
    Micros pause_{0};  // between looks
    Micros wait_{0};   // how long it has to be quiet
    std::optional<MonoTime> ended_;
};

}  // namespace happe
