// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/files.h"

#include "governor/system/temporary_directory_fixture.h"
#include "tests/disk.h"

#include <gtest/gtest.h>

namespace happe {
namespace {

TEST(WriteFile, IsOnTheDiskWhenItReturnsAndOnAFullDiskNothingIsLeftBesideTheOldOrNewText) {
    const TemporaryDirectory directory;
    const std::filesystem::path path = directory.path() / "file";
    put_text(path, "old");
    const auto write = [&] { return write_file(path, "new"); };
    const int calls = on_full_disks(directory.path(), write, [&] {
        EXPECT_TRUE(text_of(path) == "old" || text_of(path) == "new");
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
    });
    EXPECT_EQ(calls, 4);  // write, sync, rename, sync
    const Disk disk(directory.path());
    ASSERT_TRUE(write());
    EXPECT_EQ(disk.lost(), std::vector<std::string>());
}

}  // namespace
}  // namespace happe
