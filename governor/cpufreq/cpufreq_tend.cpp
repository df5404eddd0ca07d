// SPDX-License-Identifier: GPL-2.0-or-later
// The part of CpufreqControl that holds its own against hotplug and other programs.
#include "governor/cpufreq/cpufreq_control.h"

#include <fmt/format.h>
#include <algorithm>

namespace happe {
namespace {

void append(std::string& text, std::string_view more) {
    text += (text.empty() ? "" : "; ");
    text += more;
}

}  // namespace

Status CpufreqControl::tend(MonoTime now) {
    if (mode_ == Mode::Released) {
        return {};
    }
    forget_trouble();
    for (Hold& hold : holds_) {
        heeded(look(hold));
    }
    const auto is_taken = [](const Hold& hold) { return hold.state == State::Taken; };
    if (std::ranges::any_of(holds_, is_taken) && !may_retake(now)) {
        return give_up();
    }
    for (Hold& hold : holds_) {
        heeded(retake(hold));
    }
    return trouble_.empty() ? Status() : failure(trouble());
}

// The cheap look of every period: one file tells whether we are in control still, and of what.
Status CpufreqControl::look(Hold& hold) {
    hold.latest.reset();
    if (mode_ == Mode::Lent || hold.state != State::Kept) {
        return look_closer(hold);
    }
    const auto seen = cpufreq_.frequency(hold.id, file_);
    if (!seen) {
        return tl::unexpected<Error>(seen.error());
    }
    if (!*seen) {
        return look_closer(hold);
    }
    hold.latest = *seen;
    return hold.wanted && *seen != hold.shown ? insist(hold, **seen) : Status();
}

Status CpufreqControl::look_closer(Hold& hold) {
    const auto now = cpufreq_.settings(hold.id);
    if (!now) {
        return tl::unexpected<Error>(now.error());
    }
    if (!*now) {
        hold.state = State::OffLine;
    } else if (hold.state == State::OffLine || hold.state == State::Lost) {
        hold.state = State::Lost;
    } else {
        return compare(hold, (*now)->governor);
    }
    return {};
}

Status CpufreqControl::compare(Hold& hold, const std::string& governor) {
    const auto tunables = cpufreq_.tunables(hold.id, ours_.name);
    if (!tunables) {
        return tl::unexpected<Error>(tunables.error());
    }
    hold.state = State::Kept;
    if (!ours_.name.empty() && governor != ours_.name) {
        hold.state = State::Taken;
        hold.what = fmt::format("scaling_governor was set to \"{}\"", governor);
    } else if (!std::ranges::includes(*tunables, hold.tunables)) {
        hold.state = State::Taken;
        hold.what = fmt::format("a tunable of \"{}\" was set", ours_.name);
    }
    return {};
}

// Something else is shown than what came of our last write. If writing it again makes no difference, it is the kernel
// that limits us.
Status CpufreqControl::insist(Hold& hold, Khz seen) {
    const Status written = write(hold);
    if (!written) {
        return look_closer(hold);  // it may have been changed or gone off line since
    }
    if (hold.shown != seen) {
        hold.state = State::Taken;
        hold.theirs = seen;
        hold.what = fmt::format("{} was set to {}",
                                backend_ == Backend::Setspeed ? "scaling_setspeed" : "scaling_max_freq", seen.value);
    }
    return {};
}

bool CpufreqControl::may_retake(MonoTime now) {
    while (!retakes_.empty() && now - retakes_.front() >= kRetakesWithin) {
        retakes_.pop_front();
    }
    if (retakes_.size() >= kMostRetakes) {
        return false;
    }
    retakes_.push_back(now);
    return true;
}

Status CpufreqControl::retake(Hold& hold) {
    switch (hold.state) {
        case State::Kept:
        case State::OffLine:
            return {};
        case State::Taken:
            if (hold.theirs) {  // insist() has set ours again
                hold.theirs.reset();
                hold.state = State::Kept;
                return {};
            }
            return seize(hold);
        case State::Lost:
            return note(hold).and_then([this] { return save_found(settings_.found, found_); }).and_then([&] {
                return hold.state == State::Lost ? seize(hold) : Status();
            });
    }
    return {};
}

// What was taken is forgotten: it is the other's now.
Status CpufreqControl::give_up() {
    std::string what;
    std::string errors;
    for (const Hold& hold : holds_) {
        if (hold.state != State::Taken) {
            continue;
        }
        append(what, fmt::format("policy{}: {}", hold.id.value, hold.what));
        std::erase_if(found_, [&](const FoundPolicy& entry) { return entry.id == hold.id; });
        if (const Status theirs = hold.theirs ? cpufreq_.set_frequency(hold.id, file_, *hold.theirs) : Status();
            !theirs) {
            append(errors, theirs.error().message);
        }
    }
    if (const Status given = hand_back(); !given) {
        append(errors, given.error().message);
    }
    contested_ = true;
    append(errors, fmt::format("{} by another program, once more after {} times within {} s: HAPPE gives up", what,
                               kMostRetakes, kRetakesWithin / std::chrono::seconds{1}));
    return failure(std::move(errors));
}

}  // namespace happe
