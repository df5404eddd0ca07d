// SPDX-License-Identifier: GPL-2.0-or-later
// happe-tray: an icon in the desktop's tray, as happe-indicator says on standard input. A line is a PNG in base64, a
// space and what the icon says; an empty line hides it. It ends with its input.
#include <sysexits.h>
#include <unistd.h>
#include <QApplication>
#include <QIcon>
#include <QPixmap>
#include <QSocketNotifier>
#include <QSystemTrayIcon>
#include <array>
#include <cstdio>

namespace {

void obey(QSystemTrayIcon& icon, const QByteArray& line) {
    const qsizetype space = line.indexOf(' ');
    if (space < 0) {
        icon.hide();
        return;
    }
    QPixmap picture;
    picture.loadFromData(QByteArray::fromBase64(line.first(space)), "PNG");
    icon.setIcon(QIcon(picture));
    icon.setToolTip(QString::fromUtf8(line.sliced(space + 1)));
    icon.show();
}

// What has come; false at the end.
bool read_into(QByteArray& lines) {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    lines.append(buffer.data(), std::max<ssize_t>(count, 0));
    return count > 0;
}

}  // namespace

int main(int argc, char** argv) {
    const QApplication application(argc, argv);
    QApplication::setQuitOnLastWindowClosed(false);
    if (!QSystemTrayIcon::isSystemTrayAvailable()) {
        std::fputs("this desktop has no tray; GNOME has one with the extension AppIndicator\n", stderr);
        return EX_UNAVAILABLE;
    }
    QSystemTrayIcon icon;
    QByteArray lines;
    const QSocketNotifier readable(STDIN_FILENO, QSocketNotifier::Read);
    QObject::connect(&readable, &QSocketNotifier::activated, &application, [&] {
        if (!read_into(lines)) {
            QCoreApplication::quit();
            return;
        }
        for (qsizetype end = lines.indexOf('\n'); end >= 0; end = lines.indexOf('\n')) {
            obey(icon, lines.first(end));
            lines.remove(0, end + 1);
        }
    });
    std::puts("ready");
    std::fflush(stdout);
    return QApplication::exec();
}
