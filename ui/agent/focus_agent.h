// SPDX-License-Identifier: GPL-2.0-or-later
// The session agent: listens to whoever says what is in front, and tells happed. Asks only after something has changed.
#pragma once

#include "ui/agent/focus.h"
#include "ui/agent/focus_teller.h"
#include "ui/agent/process_finder.h"

#include <QObject>
#include <QTimer>

namespace happe::ui {

// Opens the best source that there is; called again when one was lost. An error says what is missing.
using OpenSource = std::function<SourceOrError(FocusSource::Events)>;

class FocusAgent final : public QObject {
    Q_OBJECT

public:
    FocusAgent(const QDBusConnection& system_bus, OpenSource open);

    // An error: why there is no source.
    [[nodiscard]] std::string start();

signals:
    // Another source is used than before, by its name, or none, and why.
    void said(const QString& what);
    // No source has come back.
    void given_up();

private:
    [[nodiscard]] std::string open_source();
    void changed();
    void ask();
    void answered(std::optional<Focus> focus);
    void source_lost(const std::string& why);
    void open_again();

    OpenSource open_;
    FocusTeller teller_;
    ProcessFinder finder_;
    QTimer settle_;
    QTimer reopen_;
    int reopened_ = 0;
    bool asking_ = false;
    bool ask_again_ = false;
    BootTime asked_{};
    std::unique_ptr<FocusSource> source_;
    QString name_;
};

}  // namespace happe::ui
