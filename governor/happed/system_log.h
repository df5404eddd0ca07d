// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's log: systemd's journal with fields (docs/daemon.md, "The journal"), or standard error without a journal.
#pragma once

#include "governor/core/governor.h"
#include "governor/core/profile_book.h"

#include <map>
#include <string>

namespace happe {

class SystemLog {
public:
    SystemLog();

    void info(const std::string& message) const;
    void warning(const std::string& message) const;

    // Logs an error or a notice. Logs the same text at most once a minute, and at most 64 texts a minute.
    void trouble(const std::string& message, MonoTime now);
    void notice(const std::string& message, MonoTime now);

    // With HAPPE_USER, HAPPE_APPLICATION, HAPPE_POLICY, HAPPE_LEVEL, HAPPE_FROM_KHZ, HAPPE_TO_KHZ, HAPPE_WHY.
    void learned(const Served& whom, const Lesson& lesson) const;
    void undone(const Served& whom, const Lesson& lesson) const;
    void decided(const Served& whom, const Target& target, const char* why) const;  // of priority debug

private:
    void changed(const Served& whom, const Lesson& lesson, const char* why) const;
    void write_once(int priority, const std::string& message, MonoTime now);

    bool to_journal_;
    std::map<std::string, MonoTime> told_;
};

}  // namespace happe
