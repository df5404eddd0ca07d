// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/surfaces/tray_program.h"

#include <unistd.h>
#include <QCoreApplication>
#include <QStandardPaths>
#include <cerrno>
#include <cstring>

namespace happe::ui {

QString tray_program() {
    const QString here = QCoreApplication::applicationDirPath();
    return QStandardPaths::findExecutable(QStringLiteral("happe-tray"),
                                          {here, here + QStringLiteral("/../libexec/happe")});
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
