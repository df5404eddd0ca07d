// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/process_finder.h"

#include "governor/system/unit_name.h"

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <system_error>

namespace happe::ui {
namespace {

namespace fs = std::filesystem;

// The owner's window, whose program has another name.
constexpr std::string_view kWindow = "org.happe.Window";

std::string line_of(const fs::path& file, char end = '\n') {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line, end);
    return line;
}

std::optional<pid_t> pid_of(std::string_view text) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
    return error == std::errc() && end == text.data() + text.size() && pid > 0 ? std::optional(pid) : std::nullopt;
}

std::string lower(std::string_view text) {
    std::string all(text);
    std::ranges::transform(all, all.begin(),
                           [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return all;
}

bool is_mine(const fs::path& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 && found.st_uid == ::geteuid();
}

}  // namespace

bool is_program_of(std::string_view argv0, const std::string& app_id) {
    const std::string_view program = argv0.substr(argv0.rfind('/') + 1);
    const std::string_view last = std::string_view(app_id).substr(app_id.rfind('.') + 1);
    return !program.empty() && (program == app_id || lower(program) == lower(last));
}

std::optional<pid_t> ProcessFinder::find(const std::string& app_id) const {
    if (app_id.empty() || app_id.find('/') != std::string::npos) {
        return std::nullopt;
    }
    const auto found = in_unit(app_id);
    return found ? found : by_program(app_id == kWindow ? "happe-tray" : app_id);
}

// The cgroup folder of the applications of the user's systemd.
fs::path ProcessFinder::applications() const {
    const std::string mine = line_of(root_ / "proc/self/cgroup");
    const std::size_t path = mine.find(":/") + 2;
    const std::size_t end = mine.find('/', mine.find("/user@", path) + 1);
    return root_ / "sys/fs/cgroup" / mine.substr(std::min(path, mine.size()), end - path);
}

std::optional<pid_t> ProcessFinder::in_unit(const std::string& app_id) const {
    std::error_code error;
    auto folder =
        fs::recursive_directory_iterator(applications(), fs::directory_options::skip_permission_denied, error);
    for (; !error && folder != fs::recursive_directory_iterator(); folder.increment(error)) {
        const auto unit = application_of_unit(folder->path().filename().string());
        if (unit && unit->application == app_id) {
            if (const auto pid = pid_of(line_of(folder->path() / "cgroup.procs"))) {
                return pid;
            }
        }
    }
    return std::nullopt;
}

std::optional<pid_t> ProcessFinder::by_program(const std::string& app_id) const {
    std::optional<pid_t> found;
    std::error_code error;
    auto folder = fs::directory_iterator(root_ / "proc", error);
    for (; !error && folder != fs::directory_iterator(); folder.increment(error)) {
        const auto pid = pid_of(folder->path().filename().string());
        if (pid && is_mine(folder->path()) && is_program_of(line_of(folder->path() / "cmdline", '\0'), app_id)) {
            found = std::min(*pid, found.value_or(*pid));
        }
    }
    return found;
}

}  // namespace happe::ui
