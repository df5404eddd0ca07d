// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/setup/own_configuration.h"

#include "governor/happectl/files.h"
#include "governor/system/files.h"
#include "governor/system/monotonic_clock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace happe::ctl {
namespace {

// The target of a symbolic link, or the file itself.
std::filesystem::path behind_links(const std::filesystem::path& file) {
    std::error_code absent;
    const std::filesystem::path real = std::filesystem::canonical(file, absent);
    return absent ? file : real;
}

// Makes the folder if there is none, and waits while another happectl has locked it. Gives up after some time, because
// everybody who can read the folder may lock it.
Outcome<FileDescriptor> lock_folder(const std::filesystem::path& folder) {
    constexpr std::chrono::seconds kPatience{25};
    constexpr std::chrono::milliseconds kTryAgain{10};
    std::error_code error;
    if (std::filesystem::create_directories(folder, error)) {
        constexpr mode_t kEverybodyLooks = 0755;
        std::filesystem::permissions(folder, std::filesystem::perms(kEverybodyLooks), error);
    }
    FileDescriptor locked(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const MonoTime end = monotonic_now() + kPatience;
    while (!locked || ::flock(locked.get(), LOCK_EX | LOCK_NB) != 0) {
        const int why = errno;
        if (why != EWOULDBLOCK || monotonic_now() > end) {
            return trouble(why == EWOULDBLOCK ? EX_TEMPFAIL : EX_IOERR,
                           fmt::format("{}: cannot lock: {}", folder.string(), std::strerror(why)));
        }
        std::this_thread::sleep_for(kTryAgain);
    }
    return locked;
}

Outcome<bool> write(const OwnConfiguration& before, const std::string& text) {
    if (before.exists && text == before.text) {
        return false;
    }
    constexpr mode_t kEverybodyReads = 0644;
    const auto written = write_file(behind_links(before.file), text, kEverybodyReads);
    return written ? Outcome<bool>(true) : trouble(EX_IOERR, written.error().message);
}

}  // namespace

Outcome<OwnConfiguration> read_own_configuration(const Root& root) {
    constexpr std::size_t kLongest = 65'536;
    OwnConfiguration own{.file = root / kConfigurationFile, .exists = false, .text = {}, .configured = {}};
    own.exists = presence(own.file) == Presence::Present;
    if (!own.exists) {
        own.text = read_input((root / kShippedConfiguration).string(), kLongest).value_or("");
        return own;
    }
    const auto text = read_input(own.file.string(), kLongest);
    if (!text) {
        return pass_on(text);
    }
    auto configured = read_configuration(*text, own.file.string());
    if (!configured) {
        return trouble(EX_DATAERR, configured.error().message);
    }
    own.text = *text;
    own.configured = *std::move(configured);
    return own;
}

Outcome<WrittenConfiguration> change_own_configuration(const Root& root, const Choices& choices) {
    const auto locked = lock_folder((root / kConfigurationFile).parent_path());
    const auto own = locked ? read_own_configuration(root) : pass_on(locked);
    const auto text = own ? with_choices(own->text, choices, own->file.string()) : pass_on(own);
    const auto changed = text ? write(*own, *text) : pass_on(text);
    return changed ? Outcome<WrittenConfiguration>({own->file, *changed}) : pass_on(changed);
}

}  // namespace happe::ctl
