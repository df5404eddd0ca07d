// SPDX-License-Identifier: GPL-2.0-or-later
// SIGTERM and SIGINT as a signal of Qt's, so that everything ends in order.
#pragma once

#include <QObject>
#include <QSocketNotifier>

namespace happe::ui {

class StopSignals final : public QObject {
    Q_OBJECT

public:
    // Blocks the two for this thread and those that it starts.
    StopSignals();
    ~StopSignals() override;

signals:
    void asked();

private:
    int file_;
    QSocketNotifier readable_;
};

}  // namespace happe::ui
