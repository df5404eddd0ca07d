// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/sources/sources.h"

#include <gtest/gtest.h>
#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QEventLoop>
#include <QFile>
#include <QTemporaryDir>

namespace happe::ui {
namespace {

TEST(SourceWatch, NoticesASocketThatComesToTheSession) {
    int argc = 0;
    const QCoreApplication application(argc, nullptr);
    const QTemporaryDir runtime;
    qputenv("XDG_RUNTIME_DIR", runtime.path().toLocal8Bit());
    const SourceWatch watch{QDBusConnection(QStringLiteral("none"))};
    bool noticed = false;
    QObject::connect(&watch, &SourceWatch::changed, [&] { noticed = true; });

    QFile socket(runtime.filePath(QStringLiteral("wayland-1")));
    ASSERT_TRUE(socket.open(QIODevice::WriteOnly));

    const QDeadlineTimer end(std::chrono::seconds(20));
    while (!noticed && !end.hasExpired()) {
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 100);
    }
    EXPECT_TRUE(noticed);
}

}  // namespace
}  // namespace happe::ui
