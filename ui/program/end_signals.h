// SPDX-License-Identifier: GPL-2.0-or-later
// SIGTERM and SIGINT end the program, even while it waits for a server that does not answer.
#pragma once

#include <QObject>
#include <QSocketNotifier>

namespace happe::ui {

// Create only one, before there are threads, for the whole life of the program.
class EndSignals final : public QObject {
    Q_OBJECT

public:
    EndSignals();

signals:
    // A signal has come: end the program. If you do not, this object ends it with status 0 after two seconds.
    void came();

private:
    QSocketNotifier readable_;
};

}  // namespace happe::ui
