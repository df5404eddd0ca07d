// SPDX-License-Identifier: GPL-2.0-or-later
// What the desktop's programs share: signals of Unix, so that everything ends in order, and whether there is a screen.
#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <initializer_list>

namespace happe::ui {

// True if the environment names a window system. If not, prints a message, because Qt would only abort.
[[nodiscard]] bool has_screen(const char* program);

// Converts Unix signals such as SIGTERM into a Qt signal.
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

// SIGTERM and SIGINT end the program, even while it waits for a server that does not answer.
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
