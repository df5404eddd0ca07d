// SPDX-License-Identifier: GPL-2.0-or-later
// What participants are shown when the laptop is in trouble.
#include "ui/study/wizard.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <QCoreApplication>
#include <csignal>
#include <filesystem>

namespace happe::study {
namespace {

class WizardTest : public testing::Test {
protected:
    WizardTest() : folder_(testing::TempDir() + "wizard-" + std::to_string(::getpid())) {
        std::filesystem::create_directories(folder_);
        std::signal(SIGXFSZ, SIG_IGN);
    }
    ~WizardTest() override {
        let_files_grow(RLIM_INFINITY);
        std::filesystem::remove_all(folder_);
    }

    // The kernel refuses what a file would grow by beyond it, with an error that SQLite calls one of the disk.
    static void let_files_grow(rlim_t most) {
        const rlimit limits{most, RLIM_INFINITY};
        ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limits), 0);
    }

    std::string folder_;
};

TEST_F(WizardTest, ShowsNoPathAndNoErrorOfADiskThatFailsAndLogsThem) {
    Journal journal(folder_ + "/journal.db");
    Server server(QUrl(QStringLiteral("http://127.0.0.1:9")), {});
    DaemonProxy governor(QDBusConnection(QStringLiteral("no bus")));
    Wizard wizard({.browser = {}, .state = QString::fromStdString(folder_), .server = {}}, journal, server, governor);
    wizard.go_on();
    ASSERT_EQ(wizard.view().page, Page::Welcome);

    let_files_grow(1024);  // of the captured log, but of no page of the journal
    testing::internal::CaptureStderr();
    wizard.sit_down(QStringLiteral("https://study.example.org/p/a-link"));
    const std::string logged = testing::internal::GetCapturedStderr();
    let_files_grow(RLIM_INFINITY);

    EXPECT_EQ(wizard.view().page, Page::Trouble);
    EXPECT_TRUE(wizard.view().detail.startsWith(QStringLiteral("This laptop can't keep anything on its disk now.")))
        << wizard.view().detail.toStdString();
    EXPECT_NE(logged.find(folder_ + "/journal.db: disk I/O error"), std::string::npos) << logged;
}

}  // namespace
}  // namespace happe::study

int main(int argc, char** argv) {
    const QCoreApplication application(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
