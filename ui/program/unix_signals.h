// SPDX-License-Identifier: GPL-2.0-or-later
// Signals of the kernel's, such as SIGTERM, as one of Qt's, so that everything ends in order.
#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <initializer_list>

namespace happe::ui {

class UnixSignals final : public QObject {
    Q_OBJECT

public:
    // For this thread and those that it starts afterwards, which may have to be before there is an application.
    static void block(std::initializer_list<int> numbers);

    // Blocks them, too.
    explicit UnixSignals(std::initializer_list<int> numbers);
    ~UnixSignals() override;

signals:
    void came(int number);

private:
    int file_;
    QSocketNotifier readable_;
};

}  // namespace happe::ui
