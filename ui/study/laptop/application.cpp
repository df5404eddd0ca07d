// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/laptop/application.h"

#include <QCoreApplication>
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

}  // namespace happe::study
