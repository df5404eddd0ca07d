// SPDX-License-Identifier: GPL-2.0-or-later
// The person who called happectl by sudo or pkexec, and programs that run as this person.
#pragma once

#include "governor/happectl/doctor/machine.h"
#include "governor/happectl/outcome.h"

#include <sys/types.h>
#include <optional>
#include <string>
#include <vector>

namespace happe::ctl {

struct Caller {
    std::string name;
    std::string home;
    uid_t uid = 0;
    gid_t gid = 0;
    std::filesystem::path runtime;  // the folder with the socket of the session bus
};

// None if root itself called happectl, or the person has no session bus.
std::optional<Caller> find_caller(const Root& root);

// Runs a program as the caller, with the environment of the caller's session, and returns its output. An error if it
// fails; its own messages go to standard error.
Outcome<std::string> run_as(const Caller& caller, const std::vector<std::string>& command);

}  // namespace happe::ctl
