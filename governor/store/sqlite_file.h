// SPDX-License-Identifier: GPL-2.0-or-later
// The files of an SQLite database: PATH, PATH-wal, PATH-shm and PATH-journal. Creates, checks, removes and renames
// them. Throws std::system_error; the store converts it into a Result.
#pragma once

#include "governor/system/file_descriptor.h"

#include <filesystem>
#include <string>

namespace happe::sqlite {

// A process holds this lock while it opens a database or sets it aside, so that two processes never do so at once. The
// constructor waits up to 250 ms for the lock.
class DirectoryLock {
public:
    explicit DirectoryLock(const std::filesystem::path& directory);

    // Makes renames in the directory survive a loss of power.
    void sync() const;

private:
    FileDescriptor directory_;
};

// Creates an empty file that only its owner may read, unless the file exists. Throws if the path is not a regular file.
void create_private(const std::filesystem::path& path);

// Sets the mode of the database's files to 0600: only their owner can read them.
void make_private(const std::filesystem::path& path);

// Gives a file the owner and mode of another one, and its content to the disk.
void finish_copy(const std::filesystem::path& path, const std::filesystem::path& like);

// Removes those files of the database that exist.
void remove_files(const std::filesystem::path& path);

// True if there is a WAL but its database is missing or empty. SQLite would delete such a WAL.
[[nodiscard]] bool has_orphaned_wal(const std::filesystem::path& path);

// Renames all files of the database at `path` to PATH.corrupt-STAMP, or PATH.corrupt-STAMP-2 and so on if that exists.
// Returns the new path. Renames PATH first, so that an interruption leaves only an orphaned WAL behind.
std::filesystem::path set_aside(const std::filesystem::path& path, const std::string& stamp, const DirectoryLock& lock);

}  // namespace happe::sqlite
