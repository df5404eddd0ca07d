// SPDX-License-Identifier: GPL-2.0-or-later
// Converts Unix signals such as SIGTERM into a Qt signal, so that everything ends in order.
#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <initializer_list>

namespace happe::ui {

class UnixSignals final : public QObject {
    Q_OBJECT

public:
    // Blocks the signals in this thread and in the threads that it starts later. Call it before Qt starts threads.
    static void block(std::initializer_list<int> numbers);

    // Also blocks the signals.
    explicit UnixSignals(std::initializer_list<int> numbers);
    ~UnixSignals() override;

signals:
    void came(int number);

private:
    int file_;
    QSocketNotifier readable_;
};

}  // namespace happe::ui
