// SPDX-License-Identifier: GPL-2.0-or-later
// The session agent: listens to the source of the focus, and reports to happed. Asks only after something has changed.
#pragma once

#include "ui/agent/focus.h"
#include "ui/agent/focus_reporter.h"
#include "ui/agent/process_finder.h"

#include <QObject>
#include <QTimer>
#include <chrono>

namespace happe::ui {

// Opens the best source of the session, but only one better than `better_than` unless that is Auto. An error says what
// is missing.
using OpenSource = std::function<SourceOrError(FocusBy better_than, FocusSource::Events)>;

// Follows the best source. It never gives up: without a source it looks for one again after half a second, then less
// and less often, and at once when somebody calls look().
class FocusAgent final : public QObject {
    Q_OBJECT

public:
    FocusAgent(const QDBusConnection& system_bus, OpenSource open);

    // Opens the first source, if there is one.
    void start();
    // Call when a source may have appeared, perhaps a better one than the present.
    void look();
    // Call when somebody begins or ends to use keyboard and pointer.
    void idle(bool idle) { reporter_.tell_idle(idle); }

signals:
    // The agent uses another source, with this name; or it has none, for this reason.
    void said(const QString& what);

private:
    void open_source();
    void use(std::unique_ptr<FocusSource> source);
    void say(const QString& what);
    void changed();
    void ask();
    void answered(std::optional<Focus> focus);
    void source_lost(int number, const std::string& why);

    OpenSource open_;
    FocusReporter reporter_;
    ProcessFinder finder_;
    QTimer settle_;
    QTimer open_again_;
    std::chrono::milliseconds patience_;  // the wait before it looks for a source again
    int number_ = 0;                      // counts the opened sources
    bool asking_ = false;
    bool ask_again_ = false;
    BootTime asked_{};
    std::unique_ptr<FocusSource> source_;
    QString said_;
};

}  // namespace happe::ui
