// SPDX-License-Identifier: GPL-2.0-or-later
// What reaches the disk in a test's folder. The test program has its own fsync(), rename(), write() and so on, which
// SQLite, Qt and the standard library call, too.
#pragma once

#include <sys/types.h>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace happe {

// While it lives, it notes what is synced in a folder and below. What was there before is on the disk. Only one may
// live.
class Disk {
public:
    explicit Disk(const std::filesystem::path& folder);
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;
    ~Disk();

    // What a loss of power would lose now, and the files that got their name before their content was synced. Of
    // SQLite's files, shared memory and an empty log do not count, but a removed journal does: it would come back.
    [[nodiscard]] std::vector<std::string> lost() const;

    // Lets the n-th of the following writes, syncs and renames and all later ones fail, as on a full disk.
    void full_at(int call) { calls_left_ = call; }
    [[nodiscard]] bool was_full() const { return calls_left_ < 0; }

    // For the functions that stand before the C library's.
    static Disk* of(const std::string& path);
    static std::string path_of(int file);  // empty for a file without a name
    bool refuses();                        // true, with errno: the disk is full
    void synced(int file);
    void renamed(const std::string& path);
    void removed(const std::string& path);

private:
    using Number = std::pair<dev_t, ino_t>;

    [[nodiscard]] bool has_content_of(const std::filesystem::path& path) const;

    std::string folder_;
    std::map<Number, std::string> content_;                  // of each file, as it is on the disk
    std::map<Number, std::map<std::string, Number>> names_;  // in each folder, as they are on the disk
    std::vector<std::string> too_early_;
    int calls_left_ = std::numeric_limits<int>::max();
};

// Runs the work on a disk that is full from its first call on, then from its second, and so on, and each time looks at
// what it left. Ends when the disk had room for all calls. Returns how often it was full.
template <typename Work, typename Look>
int on_full_disks(const std::filesystem::path& folder, Work work, Look look) {
    for (int call = 0;; ++call) {
        bool was_full = false;
        {
            Disk disk(folder);
            disk.full_at(call);
            work();
            was_full = disk.was_full();
        }
        if (!was_full) {
            return call;
        }
        look();
    }
}

}  // namespace happe
