// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/happectl/files.h"

#include "governor/happectl/setup/own_configuration.h"
#include "governor/system/temporary_directory_fixture.h"
#include "tests/disk.h"

#include <gtest/gtest.h>

namespace happe::ctl {
namespace {

namespace fs = std::filesystem;

// Writes a file, and fails wherever a disk can be full.
template <typename Write>
void expect_all_or_nothing(const fs::path& file, const std::string& after, Write write) {
    const std::string before = "mode = \"govern\"\n";
    put_text(file, before);
    const int calls = on_full_disks(file.parent_path(), write, [&] {
        EXPECT_TRUE(text_of(file) == before || text_of(file) == after) << text_of(file);
        EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), {}), 1);
        put_text(file, before);
    });
    EXPECT_GE(calls, 4);
    put_text(file, before);
    const Disk disk(file.parent_path());
    write();
    EXPECT_EQ(text_of(file), after);
    EXPECT_EQ(disk.lost(), std::vector<std::string>());
}

TEST(OwnConfiguration, IsTheOldOrTheNewOneAndOnTheDiskWhenItIsWritten) {
    const TemporaryDirectory root;
    expect_all_or_nothing(root.path() / kConfigurationFile, "mode = \"observe\"\n",
                          [&] { static_cast<void>(change_own_configuration(root.path(), {{"mode", "observe"}})); });
}

TEST(NewFile, IsTheOldOrTheNewOneAndOnTheDiskWhenItIsPublished) {
    const TemporaryDirectory root;
    const fs::path file = root.path() / "profiles.json";
    expect_all_or_nothing(file, "{}", [&] {
        auto made = NewFile::create(file);
        ASSERT_TRUE(made);
        if (made->write("{}")) {
            static_cast<void>(made->publish());
        }
    });
}

}  // namespace
}  // namespace happe::ctl
