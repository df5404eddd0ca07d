// SPDX-License-Identifier: GPL-2.0-or-later
// The pages that participants see when the laptop is in trouble.
#include "ui/study/wizard.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <QCoreApplication>
#include <QTcpServer>
#include <QTcpSocket>
#include <csignal>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

namespace happe::study {
namespace {

// A fake study server. It refuses each sitting, or answers without one. It answers a heartbeat only when the test says
// so.
class SlowServer {
public:
    SlowServer() {
        listener_.listen(QHostAddress::LocalHost);
        QObject::connect(&listener_, &QTcpServer::newConnection, [this] {
            QTcpSocket* const socket = listener_.nextPendingConnection();
            QObject::connect(socket, &QTcpSocket::readyRead, [this, socket] { read(*socket); });
        });
    }

    [[nodiscard]] QUrl address() const { return {QStringLiteral("http://127.0.0.1:%1").arg(listener_.serverPort())}; }
    void answer_heartbeats() {
        for (QTcpSocket* const socket : std::exchange(held_, {})) {
            answer(*socket);
        }
    }
    std::vector<QByteArray> heartbeats;
    bool refuses = false;

private:
    void read(QTcpSocket& socket) {
        QByteArray& request = requests_[&socket];
        request += socket.readAll();
        if (!request.endsWith('}')) {
            return;
        }
        if (request.startsWith("PUT /api/v1/device/heartbeat")) {
            heartbeats.push_back(request.mid(request.indexOf('{')));
            held_.push_back(&socket);
        } else {
            answer(socket);
        }
        request.clear();
    }
    void answer(QTcpSocket& socket) const {
        const QByteArray body = refuses ? R"({"type": "urn:happe:problem:unknown-participant"})" : "{}";
        socket.write("HTTP/1.1 " + QByteArray(refuses ? "404 Not Found" : "200 OK") +
                     "\r\nContent-Type: application/json\r\nContent-Length: " + QByteArray::number(body.size()) +
                     "\r\n\r\n" + body);
    }

    QTcpServer listener_;
    std::map<QTcpSocket*, QByteArray> requests_;
    std::vector<QTcpSocket*> held_;
};

template <typename F>
void until(F happens) {
    while (!happens()) {
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    }
}

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

    // Limits the size of files. The kernel then refuses longer writes with an error that SQLite reports as a disk
    // error.
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

    let_files_grow(1024);  // enough for the captured log, but not for a page of the journal
    testing::internal::CaptureStderr();
    wizard.sit_down(QStringLiteral("https://study.example.org/p/a-link"));
    const std::string logged = testing::internal::GetCapturedStderr();
    let_files_grow(RLIM_INFINITY);

    EXPECT_EQ(wizard.view().page, Page::Trouble);
    EXPECT_TRUE(wizard.view().detail.startsWith(QStringLiteral("This laptop can't save anything on its disk now.")))
        << wizard.view().detail.toStdString();
    EXPECT_NE(logged.find(folder_ + "/journal.db: disk I/O error"), std::string::npos) << logged;
}

TEST_F(WizardTest, SendsASignOfLifeOnlyWhenTheOneBeforeItHasArrived) {
    SlowServer slow;
    Journal journal(folder_ + "/journal.db");
    Server server(slow.address(), {});
    DaemonProxy governor(QDBusConnection(QStringLiteral("no bus")));
    Wizard wizard({.browser = {}, .state = QString::fromStdString(folder_), .server = {}}, journal, server, governor);
    wizard.sit_down(QStringLiteral("https://study.example.org/p/a-link"));
    until([&] { return slow.heartbeats.size() == 1; });
    EXPECT_TRUE(slow.heartbeats.front().contains(R"("state":"fault")")) << slow.heartbeats.front().toStdString();

    slow.refuses = true;
    wizard.try_again();
    until([&] { return wizard.view().page == Page::Welcome; });
    bool answered = false;  // a later request has an answer
    server.ask({.method = "PUT", .path = QStringLiteral("later"), .body = "{}"},
               [&](const Answer&) { answered = true; });
    until([&] { return answered; });
    EXPECT_EQ(slow.heartbeats.size(), 1);

    slow.answer_heartbeats();
    until([&] { return slow.heartbeats.size() == 2; });
    EXPECT_TRUE(slow.heartbeats.back().contains(R"("state":"idle")")) << slow.heartbeats.back().toStdString();
}

}  // namespace
}  // namespace happe::study

int main(int argc, char** argv) {
    const QCoreApplication application(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
