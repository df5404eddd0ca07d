// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/requests/attention_requests.h"

#include "governor/system/process.h"

#include <fmt/format.h>
#include <systemd/sd-login.h>
#include <algorithm>
#include <cstdlib>
#include <memory>

namespace happe {
namespace {

using Kind = ServiceError::Kind;

// The logind session that a process belongs to. Empty for a process of the user's systemd instance, which serves all of
// the user's sessions.
std::string session_of(pid_t pid) {
    char* session = nullptr;
    if (sd_pid_get_session(pid, &session) < 0) {
        return {};
    }
    const std::unique_ptr<char, decltype(&std::free)> owned(session, &std::free);
    return session;
}

}  // namespace

Answer<void> AttentionRequests::at_the_machine(const Caller& caller) const {
    const auto& active = attention_.active_session();
    if (!active || active->uid != caller.uid) {
        return refusal(Kind::NotActive, "your session is not the active one on this seat");
    }
    if (const std::string session = session_of(caller.pid); !session.empty() && session != active->id) {
        return refusal(Kind::NotActive, fmt::format("session {} is not the active one on this seat", session));
    }
    return {};
}

Answer<void> AttentionRequests::feedback(const Caller& caller, Key key) {
    return at_the_machine(caller).and_then([&] {
        return hooks_.pressed(key) ? Answer<void>()
                                   : refusal(Kind::LimitsExceeded, "more presses than a person could make");
    });
}

Answer<std::string> AttentionRequests::set_focus(const Caller& caller, const FileDescriptor& pidfd,
                                                 const std::string& hint) {
    if (const auto allowed = at_the_machine(caller); !allowed) {
        return tl::unexpected<ServiceError>(allowed.error());
    }
    const auto process = process_of(pidfd.get()).and_then([&](pid_t pid) { return describe(pidfd.get(), pid); });
    if (!process) {
        return refusal(Kind::InvalidArgument, "process: " + process.error().message);
    }
    if (process->uid != caller.uid) {
        return refusal(Kind::AccessDenied, "process: it is another user's");
    }
    std::string application = application_of(*process, hint);
    focus_owner_ = caller.bus_name;
    attention_.application(application, process->cgroup);
    hooks_.changed();
    return application;
}

Answer<void> AttentionRequests::set_idle(const Caller& caller, bool idle) {
    return at_the_machine(caller).map([&] {
        idle_owner_ = caller.bus_name;
        attention_.input(idle);
    });
}

Answer<void> AttentionRequests::clear_focus(const Caller& caller) {
    if (caller.bus_name != focus_owner_) {
        return refusal(Kind::NotFound, "you have not set the focus");
    }
    focus_owner_.clear();
    attention_.application(kNoApplication);
    hooks_.changed();
    return {};
}

Answer<std::uint32_t> AttentionRequests::hold(const Caller& caller, const std::string& program,
                                              const std::string& reason) {
    return keep({.kind = Kept::Hold, .bus_name = caller.bus_name, .program = program, .reason = reason});
}

Answer<std::uint32_t> AttentionRequests::save_power(const Caller& caller, const std::string& program,
                                                    const std::string& reason) {
    return keep({.kind = Kept::Saver, .bus_name = caller.bus_name, .program = program, .reason = reason});
}

Answer<std::uint32_t> AttentionRequests::keep(Held wanted) {
    if (wanted.program.empty()) {
        return refusal(Kind::InvalidArgument, "application: empty");
    }
    const auto held =
        std::ranges::count_if(holds_, [&](const auto& entry) { return entry.second.bus_name == wanted.bus_name; });
    if (static_cast<std::size_t>(held) >= kMostHolds) {
        return refusal(Kind::LimitsExceeded, fmt::format("you hold {} times already", kMostHolds));
    }
    do {
        ++last_cookie_;
    } while (last_cookie_ == 0 || holds_.contains(last_cookie_));
    holds_.emplace(last_cookie_, std::move(wanted));
    tell_holders();
    return last_cookie_;
}

Answer<void> AttentionRequests::release(const Caller& caller, std::uint32_t cookie) {
    const auto found = holds_.find(cookie);
    if (found == holds_.end() || found->second.bus_name != caller.bus_name) {
        return refusal(Kind::NotFound, "cookie: not one of your holds");
    }
    holds_.erase(found);
    tell_holders();
    return {};
}

void AttentionRequests::left(const std::string& bus_name) {
    if (bus_name == idle_owner_) {
        idle_owner_.clear();
        attention_.input(std::nullopt);
    }
    const bool held = std::erase_if(holds_, [&](const auto& entry) { return entry.second.bus_name == bus_name; }) > 0;
    if (bus_name == focus_owner_) {
        focus_owner_.clear();
        attention_.application(kNoApplication);
        hooks_.changed();
    }
    if (held) {
        tell_holders();
    }
}

std::vector<ShownHold> AttentionRequests::shown(Kept kind) const {
    std::vector<ShownHold> all;
    for (const auto& [cookie, held] : holds_) {
        if (held.kind == kind) {
            all.push_back({held.program, held.reason});
        }
    }
    return all;
}

void AttentionRequests::tell_holders() {
    std::string holder;
    if (const auto all = holds(); !all.empty()) {
        const auto& [program, reason] = all.front();
        holder = reason.empty() ? program : fmt::format("{}: {}", program, reason);
    }
    attention_.holder(holder);
    attention_.saver(!savers().empty());
    hooks_.changed();
}

}  // namespace happe
