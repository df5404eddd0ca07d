// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/disk.h"

#include "governor/system/temporary_directory_fixture.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>

namespace happe {
namespace {

namespace fs = std::filesystem;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the C library's functions have no context
Disk* watching = nullptr;

std::pair<dev_t, ino_t> number_of(const fs::path& path) {
    struct stat about{};
    return ::lstat(path.c_str(), &about) == 0 ? std::pair(about.st_dev, about.st_ino) : std::pair<dev_t, ino_t>();
}

auto names_in(const fs::path& folder) {
    std::map<std::string, std::pair<dev_t, ino_t>> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
        names.emplace(entry.path().filename(), number_of(entry.path()));
    }
    return names;
}

}  // namespace

Disk::Disk(const fs::path& folder) : folder_(folder) {
    names_[number_of(folder)] = names_in(folder);
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_directory()) {
            names_[number_of(entry.path())] = names_in(entry.path());
        } else if (entry.is_regular_file()) {
            content_[number_of(entry.path())] = text_of(entry.path());
        }
    }
    watching = this;
}

Disk::~Disk() {
    watching = nullptr;
}

Disk* Disk::of(const std::string& path) {
    return watching != nullptr && (path + "/").starts_with(watching->folder_ + "/") ? watching : nullptr;
}

std::string Disk::path_of(int file) {
    std::error_code unnamed;
    return fs::read_symlink("/proc/self/fd/" + std::to_string(file), unnamed);
}

bool Disk::refuses() {
    if (calls_left_ > 0) {
        --calls_left_;
        return false;
    }
    calls_left_ = -1;
    errno = ENOSPC;
    return true;
}

void Disk::synced(int file) {
    struct stat about{};
    ::fstat(file, &about);
    const Number number(about.st_dev, about.st_ino);
    if (S_ISDIR(about.st_mode)) {
        names_[number] = names_in(path_of(file));
    } else {
        content_[number] = text_of("/proc/self/fd/" + std::to_string(file));  // which may have no name yet
    }
}

bool Disk::has_content_of(const fs::path& path) const {
    if (!fs::is_regular_file(path) || path.filename().string().ends_with("-shm")) {
        return true;
    }
    const std::string text = text_of(path);
    const bool is_empty_log = text.empty() && path.filename().string().ends_with("-wal");
    const auto found = content_.find(number_of(path));
    return is_empty_log || text == (found == content_.end() ? "" : found->second);
}

void Disk::renamed(const std::string& path) {
    if (!has_content_of(path)) {
        too_early_.push_back("content of " + fs::path(path).filename().string() + " before its name");
    }
}

void Disk::removed(const std::string& path) {
    content_.erase(number_of(path));  // the next file may get this number
}

std::vector<std::string> Disk::lost() const {
    std::vector<std::string> lost = too_early_;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
        const fs::path& path = entry.path();
        const std::string name = path.filename();
        const auto folder = names_.find(number_of(path.parent_path()));
        const bool is_new = folder == names_.end() || !folder->second.contains(name);
        if (!name.ends_with("-shm") && (is_new || folder->second.at(name) != number_of(path))) {
            lost.push_back("name of " + name);
        }
        if (!has_content_of(path)) {
            lost.push_back("content of " + name);
        }
    }
    for (const auto& [name, number] : names_.at(number_of(folder_))) {
        if (name.ends_with("-journal") && !fs::exists(fs::path(folder_) / name)) {
            lost.push_back("what " + name + " undoes when it comes back");
        }
    }
    return lost;
}

namespace {

// The C library's own function.
template <typename Function>
Function* next(Function* /*type*/, const char* name) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): dlsym() returns void*
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

template <typename Call>
auto unless_full(int file, Call call) -> decltype(call()) {
    Disk* const disk = watching == nullptr ? nullptr : Disk::of(Disk::path_of(file));
    return disk != nullptr && disk->refuses() ? -1 : call();
}

template <typename Call>
int sync(int file, Call call) {
    const int status = unless_full(file, call);
    if (Disk* const disk = Disk::of(Disk::path_of(file)); disk != nullptr && status == 0) {
        disk->synced(file);
    }
    return status;
}

}  // namespace
}  // namespace happe

extern "C" {

int fsync(int file) {
    static auto* const real = happe::next(&fsync, "fsync");
    return happe::sync(file, [&] { return real(file); });
}

int fdatasync(int file) {
    static auto* const real = happe::next(&fdatasync, "fdatasync");
    return happe::sync(file, [&] { return real(file); });
}

ssize_t write(int file, const void* bytes, size_t count) {
    static auto* const real = happe::next(&write, "write");
    return happe::unless_full(file, [&] { return real(file, bytes, count); });
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
    static auto* const real = happe::next(&pwrite64, "pwrite64");
    return happe::unless_full(file, [&] { return real(file, bytes, count, offset); });
}

int rename(const char* from, const char* to) noexcept {
    static auto* const real = happe::next(&rename, "rename");
    happe::Disk* const disk = happe::Disk::of(from);
    if (disk != nullptr && disk->refuses()) {
        return -1;
    }
    if (disk != nullptr) {
        disk->renamed(from);
    }
    return real(from, to);
}

int unlink(const char* path) noexcept {
    static auto* const real = happe::next(&unlink, "unlink");
    if (happe::Disk* const disk = happe::Disk::of(path)) {
        disk->removed(path);
    }
    return real(path);
}

int remove(const char* path) noexcept {
    static auto* const real = happe::next(&remove, "remove");
    if (happe::Disk* const disk = happe::Disk::of(path)) {
        disk->removed(path);
    }
    return real(path);
}

}  // extern "C"
