// SPDX-License-Identifier: GPL-2.0-or-later
// Starts happe-tray as a child, and writes a line for each picture to its standard input (ui/owner/main.cpp).
#include "ui/surfaces/surface.h"

#include <unistd.h>
#include <QBuffer>
#include <QCoreApplication>
#include <QProcess>
#include <QStandardPaths>
#include <cerrno>
#include <cstring>
#include <utility>

namespace happe::ui {
namespace {

constexpr int kPatience = 5000;  // milliseconds; long enough for a starting desktop

// The path of happe-tray: beside this program, or where it is installed. Empty if it is missing.
QString tray_program() {
    const QString here = QCoreApplication::applicationDirPath();
    return QStandardPaths::findExecutable(QStringLiteral("happe-tray"),
                                          {here, here + QStringLiteral("/../libexec/happe")});
}

// The overlay needs no windows of Qt, but happe-tray does.
QProcessEnvironment with_windows() {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.remove(QStringLiteral("QT_QPA_PLATFORM"));
    return environment;
}

class TraySurface final : public Surface {
public:
    explicit TraySurface(Events events) : events_(std::move(events)) {}
    ~TraySurface() override {
        child_.disconnect();
        child_.closeWriteChannel();
        child_.waitForFinished(kPatience);
    }

    // An error says why there can be no surface.
    [[nodiscard]] std::string open() {
        child_.setProcessEnvironment(with_windows());
        child_.start(tray_program(), QStringList());
        if (!child_.waitForReadyRead(kPatience)) {
            const QByteArray said = child_.readAllStandardError().trimmed();
            return said.isEmpty() ? "happe-tray does not start" : said.toStdString();
        }
        QObject::connect(&child_, &QProcess::finished, [this] { events_.lost(); });
        return {};
    }

    [[nodiscard]] double scale() const override { return 1.0; }
    [[nodiscard]] bool translucent() const override { return false; }
    [[nodiscard]] bool icon() const override { return true; }

    void show(const QImage& picture, const QString& name) override {
        QByteArray png;
        QBuffer buffer(&png);
        picture.save(&buffer, "PNG");
        child_.write(png.toBase64() + ' ' + name.toUtf8() + '\n');
    }

    void hide() override { child_.write("\n"); }

private:
    Events events_;
    QProcess child_;
};

}  // namespace

SurfaceOrError open_tray_surface(Surface::Events events) {
    auto surface = std::make_unique<TraySurface>(std::move(events));
    if (const std::string error = surface->open(); !error.empty()) {
        return tl::unexpected(NoSurface{.why = error});
    }
    return surface;
}

std::string become_window() {
    const QByteArray program = tray_program().toLocal8Bit();
    if (program.isEmpty()) {
        return "happe-tray is not there";
    }
    qunsetenv("QT_QPA_PLATFORM");  // only for this program
    ::execl(program.constData(), "happe-tray", "--window", nullptr);
    return program.toStdString() + ": " + std::strerror(errno);
}

}  // namespace happe::ui
