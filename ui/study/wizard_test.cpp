// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/wizard.h"

#include <gtest/gtest.h>
#include <QCoreApplication>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTemporaryDir>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace happe::study {
namespace {

// A fake study server. It refuses each sitting, or answers without one. It answers a heartbeat only when the test says
// so, and not the tenth question for its clock.
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
            answer(*socket, refuses);
        }
    }
    std::vector<QByteArray> heartbeats;
    bool refuses = false;
    int clocks = 0;

private:
    void read(QTcpSocket& socket) {
        QByteArray& request = requests_[&socket];
        request += socket.readAll();
        const bool asks_for_clock = request.startsWith("GET /api/v1/clock");
        if (!request.endsWith(asks_for_clock ? "\r\n\r\n" : "}")) {
            return;
        }
        if (request.startsWith("PUT /api/v1/device/heartbeat")) {
            heartbeats.push_back(request.mid(request.indexOf('{')));
            held_.push_back(&socket);
        } else {
            answer(socket, asks_for_clock ? ++clocks == 10 : refuses);
        }
        request.clear();
    }
    static void answer(QTcpSocket& socket, bool refuses) {
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

TEST(Wizard, SendsASignOfLifeOnlyWhenTheOneBeforeItHasArrived) {
    SlowServer slow;
    const QTemporaryDir folder;
    Journal journal(folder.filePath(QStringLiteral("journal.db")).toStdString());
    Server server(slow.address(), {});
    DaemonProxy governor(QDBusConnection(QStringLiteral("no bus")));
    Wizard wizard({.browser = {}, .state = folder.path(), .server = {}}, journal, server, governor);
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

TEST(Clocks, ProbesBeforeAFailureDoNotCountBecauseTheNetworkMayBeAnother) {
    SlowServer slow;
    Server server(slow.address(), {});
    std::string compared;
    compare_clocks(server, [&](const Upload& upload) { compared = upload.body; });
    until([&] { return !compared.empty(); });
    EXPECT_EQ(nlohmann::json::parse(compared)["probes"].size(), 16);
    EXPECT_EQ(slow.clocks, 10 + 16);
}

}  // namespace
}  // namespace happe::study

int main(int argc, char** argv) {
    const QCoreApplication application(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
