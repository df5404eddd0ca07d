// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/setup/own_configuration.h"

#include "governor/happectl/files.h"
#include "governor/system/files.h"

namespace happe::ctl {
namespace {

// The target of a symbolic link, or the file itself.
std::filesystem::path behind_links(const std::filesystem::path& file) {
    std::error_code absent;
    const std::filesystem::path real = std::filesystem::canonical(file, absent);
    return absent ? file : real;
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

Outcome<bool> write_own_configuration(const OwnConfiguration& before, const std::string& text) {
    if (before.exists && text == before.text) {
        return false;
    }
    constexpr mode_t kEverybodyReads = 0644;
    std::error_code error;
    if (std::filesystem::create_directories(before.file.parent_path(), error)) {
        constexpr mode_t kEverybodyLooks = 0755;
        std::filesystem::permissions(before.file.parent_path(), std::filesystem::perms(kEverybodyLooks), error);
    }
    const auto written = write_file(behind_links(before.file), text, kEverybodyReads);
    return written ? Outcome<bool>(true) : trouble(EX_IOERR, written.error().message);
}

}  // namespace happe::ctl
