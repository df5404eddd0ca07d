// SPDX-License-Identifier: GPL-2.0-or-later
// Sends the journal's uploads to the server one after the other, and tries until each is accepted or refused.
#pragma once

#include "ui/study/server/server.h"
#include "ui/study/sitting/journal.h"

#include <QObject>
#include <QString>
#include <functional>
#include <vector>

namespace happe::study {

class Uploader final : public QObject {
    Q_OBJECT

public:
    Uploader(Journal& journal, Server& server) : journal_(journal), server_(server) {}

    // Begins to send the first upload, unless it is on its way.
    void go();
    // Calls `then` when no upload is left, at once if there is none now.
    void when_done(std::function<void()> then);

    // Why the first upload is not sent yet; empty: no obstacle.
    [[nodiscard]] const QString& obstacle() const { return obstacle_; }

signals:
    void waits();  // obstacle() has changed

private:
    void carry();
    void delivered(const Upload& upload, const Answer& answer);
    void rest(const QString& why);

    Journal& journal_;
    Server& server_;
    bool under_way_ = false;
    QString obstacle_;
    std::vector<std::function<void()>> waiting_;
};

// Asks for the server's clock sixteen times, and makes an upload of the answers with this machine's CLOCK_MONOTONIC.
// docs/uploads.md.
void compare_clocks(Server& server, const std::function<void(const Upload&)>& then);

[[nodiscard]] std::string new_id();

}  // namespace happe::study
