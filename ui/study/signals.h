// SPDX-License-Identifier: GPL-2.0-or-later
// SIGTERM and SIGINT, and SIGUSR1 by which `happe-study abort` calls, as signals of Qt's.
#pragma once

#include <QObject>
#include <QSocketNotifier>

namespace happe::study {

// After block_signals(), which is to be called before there are threads.
class Signals final : public QObject {
    Q_OBJECT

public:
    Signals();
    ~Signals() override;

signals:
    void stop();
    void experimenter();

private:
    int file_;
    QSocketNotifier readable_;
};

void block_signals();

}  // namespace happe::study
