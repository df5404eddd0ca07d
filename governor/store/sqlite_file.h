// SPDX-License-Identifier: GPL-2.0-or-later
// An SQLite database as files: PATH, and beside it PATH-wal, PATH-shm, PATH-journal. Whether they can be trusted, and
// where broken ones go. Throws std::system_error; the store turns it into a Result at its edge.
#pragma once

#include "governor/system/file_descriptor.h"

#include <filesystem>
#include <string>

namespace happe::sqlite {

// Held while a database is opened or set aside, so that two processes never do so at once. Waits for its turn.
class DirectoryLock {
public:
    explicit DirectoryLock(const std::filesystem::path& directory);

    // What was renamed in the directory survives a loss of power.
    void sync() const;

private:
    FileDescriptor directory_;
};

// An empty file that only its owner may read, unless there is a file. Throws if there is anything but a regular file.
void create_private(const std::filesystem::path& path);

// The database's files are its owner's alone: mode 0600.
void make_private(const std::filesystem::path& path);

// The files of the database that exist.
void remove_files(const std::filesystem::path& path);

// A WAL whose database is missing or empty: SQLite would delete it.
[[nodiscard]] bool has_orphaned_wal(const std::filesystem::path& path);

// Renames all files of the database at `path` to PATH.corrupt-STAMP, or PATH.corrupt-STAMP-2 and so on where that is
// taken; returns the new path. PATH moves first: whatever is left behind by an interruption is then an orphan.
std::filesystem::path set_aside(const std::filesystem::path& path, const std::string& stamp, const DirectoryLock& lock);

}  // namespace happe::sqlite
