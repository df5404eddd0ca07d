// SPDX-License-Identifier: GPL-2.0-or-later
// The application that participants use in a run: a program, pinned to a CPU, and all processes that it starts
// (ui/study/laptop/keeper.cpp).
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QUrl>
#include <memory>
#include <optional>

namespace happe::study {

class Application final : public QObject {
    Q_OBJECT

public:
    Application() = default;
    ~Application() override;

    void start(const QStringList& command, std::optional<int> cpu);
    // Sends SIGTERM, and a second later SIGKILL, to all of them. Does not emit ended().
    void stop();

signals:
    // The application has ended by itself. `why`: for the log, if it could not start; otherwise empty.
    void ended(const QString& why);

private:
    void release();

    std::unique_ptr<QProcess> keeper_;
};

// Opens a participant's page. Its address is secret and must not be on a command line, so the browser gets a file in
// `folder` that leads there. Returns the error; empty if it worked.
[[nodiscard]] QString open_in_browser(const QUrl& address, const QString& program, const QString& folder);
void forget_page(const QString& folder);

}  // namespace happe::study
