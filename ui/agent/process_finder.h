// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the process of an application by its name.
#pragma once

#include <sys/types.h>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace happe::ui {

class ProcessFinder {
public:
    // `root`: the root of the machine's file system.
    explicit ProcessFinder(std::filesystem::path root = "/") : root_(std::move(root)) {}

    // A process of this user for an app id: one in the systemd unit that the desktop made for the application, else
    // one of a program with this name or the id's last part (org.gnome.Maps: maps). Of several it returns any one,
    // because happed gives them the same name.
    [[nodiscard]] std::optional<pid_t> find(const std::string& app_id) const;

private:
    [[nodiscard]] std::filesystem::path applications() const;
    [[nodiscard]] std::optional<pid_t> in_unit(const std::string& app_id) const;
    [[nodiscard]] std::optional<pid_t> by_program(const std::string& app_id) const;

    std::filesystem::path root_;
};

// True if a program's argv[0] has the application's name.
[[nodiscard]] bool is_program_of(std::string_view argv0, const std::string& app_id);

}  // namespace happe::ui
