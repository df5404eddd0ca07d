// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/laptop/application.h"

#include <QCoreApplication>
#include <QFile>
#include <QProcess>
#include <QSaveFile>
#include <QStandardPaths>
#include <utility>

namespace happe::study {
namespace {

const QString kGraceMs = QStringLiteral("1000");
constexpr int kEndingMs = 5000;

QString keeper_program() {
    const QString here = QCoreApplication::applicationDirPath();
    return QStandardPaths::findExecutable(QStringLiteral("happe-keep"),
                                          {here, here + QStringLiteral("/../libexec/happe")});
}

QString page_in(const QString& folder) {
    return folder + QStringLiteral("/participant.html");
}

}  // namespace

Application::~Application() {
    if (keeper_) {
        keeper_->disconnect(this);
        keeper_->closeWriteChannel();
        keeper_->waitForFinished(kEndingMs);
    }
}

void Application::start(const QStringList& command, std::optional<int> cpu) {
    stop();
    keeper_ = std::make_unique<QProcess>();
    keeper_->setStandardOutputFile(QProcess::nullDevice());  // no log needs the games' output
    connect(keeper_.get(), &QProcess::finished, this, [this] {
        const QString why = QString::fromUtf8(keeper_->readAllStandardError()).trimmed();
        release();
        emit ended(why);
    });
    connect(keeper_.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) {
            const QString why = QStringLiteral("happe-keep: ") + keeper_->errorString();
            release();
            emit ended(why);
        }
    });
    const QStringList options{cpu ? QString::number(*cpu) : QStringLiteral("any"), kGraceMs};
    keeper_->start(keeper_program(), options + command);
}

void Application::stop() {
    if (!keeper_) {
        return;
    }
    keeper_->disconnect(this);
    keeper_->closeWriteChannel();
    release();
}

// The process object deletes itself when the process has ended; nobody waits for it.
void Application::release() {
    QProcess* const left = keeper_.release();
    if (left->state() == QProcess::NotRunning) {
        left->deleteLater();
    } else {
        connect(left, &QProcess::finished, left, &QObject::deleteLater);
    }
}

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
