// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happed/system_log.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

namespace happe {
namespace {

constexpr std::size_t kMostTold = 64;
constexpr Micros kSilence = std::chrono::seconds{60};

// Standard error is the journal's own stream: systemd.exec(5), JOURNAL_STREAM.
bool writes_to_journal() {
    struct stat here{};
    const char* const stream = std::getenv("JOURNAL_STREAM");
    return stream != nullptr && fstat(STDERR_FILENO, &here) == 0 &&
           fmt::format("{}:{}", here.st_dev, here.st_ino) == stream;
}

void write(bool to_journal, int priority, const std::string& message) {
    if (to_journal) {
        sd_journal_send("MESSAGE=%s", message.c_str(), "PRIORITY=%i", priority, nullptr);
    } else if (priority < LOG_DEBUG) {
        std::fputs(fmt::format("happed: {}\n", message).c_str(), stderr);
    }
}

const char* key_of(const Lesson& lesson) {
    if (lesson.probe) {
        return "nobody minded";
    }
    return lesson.key == Key::Performance ? "performance key" : "power key";
}

}  // namespace

SystemLog::SystemLog() : to_journal_(writes_to_journal()) {}

void SystemLog::info(const std::string& message) const {
    write(to_journal_, LOG_INFO, message);
}

void SystemLog::warning(const std::string& message) const {
    write(to_journal_, LOG_WARNING, message);
}

void SystemLog::trouble(const std::string& message, MonoTime now) {
    write_once(LOG_ERR, message, now);
}

void SystemLog::notice(const std::string& message, MonoTime now) {
    write_once(LOG_NOTICE, message, now);
}

void SystemLog::write_once(int priority, const std::string& message, MonoTime now) {
    std::erase_if(told_, [now](const auto& told) { return now - told.second >= kSilence; });
    if (told_.size() < kMostTold && told_.try_emplace(message, now).second) {
        write(to_journal_, priority, message);
    }
}

void SystemLog::learned(const Served& whom, const Lesson& lesson) const {
    changed(whom, lesson, key_of(lesson));
}

void SystemLog::undone(const Served& whom, const Lesson& lesson) const {
    Lesson back = lesson;
    std::swap(back.from, back.to);
    changed(whom, back, "undo");
}

void SystemLog::changed(const Served& whom, const Lesson& lesson, const char* why) const {
    const std::string profile = profile_name(whom);
    const std::string message = fmt::format("{} using {}: level {} is {} kHz now, was {} kHz ({})", whom.user, profile,
                                            lesson.level.value, lesson.to.value, lesson.from.value, why);
    if (!to_journal_) {
        info(message);
        return;
    }
    sd_journal_send("MESSAGE=%s", message.c_str(), "PRIORITY=%i", LOG_INFO, "HAPPE_USER=%s", whom.user.c_str(),
                    "HAPPE_APPLICATION=%s", profile.c_str(), "HAPPE_POLICY=%u", unsigned{lesson.policy.value},
                    "HAPPE_LEVEL=%u", unsigned{lesson.level.value}, "HAPPE_FROM_KHZ=%u", lesson.from.value,
                    "HAPPE_TO_KHZ=%u", lesson.to.value, "HAPPE_WHY=%s", why, nullptr);
}

void SystemLog::decided(const Served& whom, const Target& target, const char* why) const {
    if (to_journal_) {
        sd_journal_send("MESSAGE=policy %u: %u kHz", unsigned{target.policy.value}, target.khz.value, "PRIORITY=%i",
                        LOG_DEBUG, "HAPPE_USER=%s", whom.user.c_str(), "HAPPE_APPLICATION=%s",
                        profile_name(whom).c_str(), "HAPPE_POLICY=%u", unsigned{target.policy.value}, "HAPPE_TO_KHZ=%u",
                        target.khz.value, "HAPPE_WHY=%s", why, nullptr);
    }
}

}  // namespace happe
