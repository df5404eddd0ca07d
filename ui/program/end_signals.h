// SPDX-License-Identifier: GPL-2.0-or-later
// SIGTERM and SIGINT end the program, even while it waits for a server that does not answer.
#pragma once

#include <QObject>
#include <QSocketNotifier>

namespace happe::ui {

// Only one, for the whole life of the program, and before there are threads.
class EndSignals final : public QObject {
    Q_OBJECT

public:
    EndSignals();

signals:
    // The program is to end. If it is still there after two seconds, it ends with status 0 at once.
    void came();

private:
    QSocketNotifier readable_;
};

}  // namespace happe::ui
