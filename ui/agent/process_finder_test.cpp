// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/process_finder.h"

#include <gtest/gtest.h>
#include <cstdlib>
#include <fstream>

namespace happe::ui {
namespace {

namespace fs = std::filesystem;

class Machine : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "happe-finder-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
        write("proc/self/cgroup", "0::/user.slice/user-1000.slice/user@1000.service/session.slice/happe.service\n");
    }
    void TearDown() override { fs::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    void unit(const std::string& name, const std::string& processes) const {
        write("sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/" + name + "/cgroup.procs",
              processes);
    }
    void program(int pid, const std::string& argv0) const {
        write("proc/" + std::to_string(pid) + "/cmdline", argv0 + '\0' + "--option" + '\0');
    }
    [[nodiscard]] std::optional<pid_t> found(const std::string& id) const { return ProcessFinder(root_).find(id); }

    fs::path root_;
};

TEST_F(Machine, FindsTheFirstProcessOfTheApplicationsUnit) {
    unit("app-gnome-org.gnome.Maps-4711.scope", "4711\n4712\n");
    unit("app-flatpak-org.x.Y-12.scope", "12\n");
    unit("app-firefox\\x2desr@1a2b.service", "99\n");
    unit("app-signal-desktop-30.scope", "30\n");
    EXPECT_EQ(found("org.gnome.Maps"), 4711);
    EXPECT_EQ(found("org.x.Y"), 12);
    EXPECT_EQ(found("firefox-esr"), 99);
    EXPECT_EQ(found("signal-desktop"), 30);
    for (const char* const part : {"firefox", "desktop", "signal"}) {
        EXPECT_EQ(found(part), std::nullopt) << part;
    }
}

TEST_F(Machine, FindsAProgramOfTheNameWhereThereIsNoUnit) {
    unit("app-foot-1.scope", "");  // its processes have ended
    program(30, "/usr/bin/foot");
    program(20, "foot");
    program(10, "/usr/bin/footclient");
    program(40, "maps");
    program(50, "/usr/libexec/happe/happe-tray");
    EXPECT_EQ(found("foot"), 20);
    EXPECT_EQ(found("org.gnome.Maps"), 40);
    EXPECT_EQ(found("org.happe.Window"), 50);
}

TEST_F(Machine, FindsNothingThatIsNotThere) {
    unit("app-x-1.scope", "no number\n");
    program(7, "");
    write("proc/8/cmdline", "");
    for (const char* const id : {"", "x", "/", "../..", ".", "org.x.", "\xff", "a\nb"}) {
        EXPECT_EQ(found(id), std::nullopt) << id;
    }
    fs::remove_all(root_ / "proc");
    EXPECT_EQ(found("x"), std::nullopt);
}

}  // namespace
}  // namespace happe::ui
