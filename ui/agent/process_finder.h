// SPDX-License-Identifier: GPL-2.0-or-later
// The process of an application of which only the name is known.
#pragma once

#include <sys/types.h>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace happe::ui {

class ProcessFinder {
public:
    // `root`: of the machine's file system.
    explicit ProcessFinder(std::filesystem::path root = "/") : root_(std::move(root)) {}

    // A process of this user's by an app id: of the systemd unit that the desktop started the application in, else one
    // whose program is called so, or like the id's last part (org.gnome.Maps: maps). Which one of several does not
    // matter: happed calls them alike.
    [[nodiscard]] std::optional<pid_t> find(const std::string& app_id) const;

private:
    [[nodiscard]] std::filesystem::path applications() const;
    [[nodiscard]] std::optional<pid_t> in_unit(const std::string& app_id) const;
    [[nodiscard]] std::optional<pid_t> by_program(const std::string& app_id) const;

    std::filesystem::path root_;
};

// Whether this unit is that of an application: app[-LAUNCHER]-ID-RANDOM.scope or app[-LAUNCHER]-ID[@RANDOM].service.
[[nodiscard]] bool is_unit_of(std::string_view unit, const std::string& app_id);

// Whether a program, by its argv[0], has the application's name.
[[nodiscard]] bool is_program_of(std::string_view argv0, const std::string& app_id);

}  // namespace happe::ui
