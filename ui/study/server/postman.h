// SPDX-License-Identifier: GPL-2.0-or-later
// Brings the journal's letters to the server, one after the other, however long it takes.
#pragma once

#include "ui/study/server/server.h"
#include "ui/study/sitting/journal.h"

#include <QObject>
#include <QString>
#include <functional>
#include <vector>

namespace happe::study {

class Postman final : public QObject {
    Q_OBJECT

public:
    Postman(Journal& journal, Server& server) : journal_(journal), server_(server) {}

    // Begins with the first letter, unless it is under way.
    void go();
    // Once no letter is left, which may be now.
    void when_done(std::function<void()> then);

    // What keeps the first letter here; empty: nothing.
    [[nodiscard]] const QString& obstacle() const { return obstacle_; }

signals:
    void waits();  // obstacle() has changed

private:
    void carry();
    void delivered(const Letter& letter, const Answer& answer);
    void rest(const QString& why);

    Journal& journal_;
    Server& server_;
    bool under_way_ = false;
    QString obstacle_;
    std::vector<std::function<void()>> waiting_;
};

// Sixteen questions for the server's clock, beside this machine's CLOCK_MONOTONIC, as a letter. docs/uploads.md.
void compare_clocks(Server& server, const std::function<void(const Letter&)>& then);

[[nodiscard]] std::string new_id();

}  // namespace happe::study
