// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/laptop/browser.h"

#include <QFile>
#include <QProcess>
#include <QSaveFile>

namespace happe::study {
namespace {

QString page_in(const QString& folder) {
    return folder + QStringLiteral("/participant.html");
}

}  // namespace

void forget_page(const QString& folder) {
    QFile::remove(page_in(folder));
}

QString open_in_browser(const QUrl& address, const QString& program, const QString& folder) {
    QSaveFile file(page_in(folder));
    const QString link = address.toString(QUrl::FullyEncoded).toHtmlEscaped();
    const QString page = QStringLiteral(
                             "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>HAPPE</title>"
                             "<meta name=\"referrer\" content=\"no-referrer\">"
                             "<meta http-equiv=\"refresh\" content=\"0; url=%1\"><a href=\"%1\">%2</a></html>")
                             .arg(link, QStringLiteral("Go on"));
    if (!file.open(QIODevice::WriteOnly) || file.write(page.toUtf8()) < 0 ||
        !file.setPermissions(QFile::ReadOwner | QFile::WriteOwner) || !file.commit()) {
        return file.fileName() + QStringLiteral(": ") + file.errorString();
    }
    const QString opener = program.isEmpty() ? QStringLiteral("xdg-open") : program;
    const QUrl place = QUrl::fromLocalFile(file.fileName());
    const bool started = QProcess::startDetached(opener, {place.toString(QUrl::FullyEncoded)});
    return started ? QString() : opener + QStringLiteral(": cannot be started");
}

}  // namespace happe::study
