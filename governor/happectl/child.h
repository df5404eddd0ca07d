// SPDX-License-Identifier: GPL-2.0-or-later
// A command that happectl starts and waits for.
#pragma once

#include "governor/happectl/outcome.h"
#include "governor/system/file_descriptor.h"

#include <sys/types.h>
#include <csignal>
#include <string>
#include <vector>

namespace happe::ctl {

class Child {
public:
    // Exit statuses if the command cannot run, as in shells.
    static constexpr int kNotFound = 127;
    static constexpr int kNotExecutable = 126;

    // Starts the command, found in PATH, with these signals blocked and with happectl's standard input and output.
    static Outcome<Child> start(const std::vector<std::string>& command, const sigset_t& blocked);

    void tell(int signal) const;

    // Waits for the command's end. Returns its exit status, or 128 + N if signal N ended it.
    [[nodiscard]] int wait() const;

    // Readable when the command has ended.
    [[nodiscard]] int descriptor() const { return pidfd_.get(); }

private:
    Child(pid_t pid, FileDescriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

    pid_t pid_;
    FileDescriptor pidfd_;
};

}  // namespace happe::ctl
