// SPDX-License-Identifier: GPL-2.0-or-later
// Whether this user wants the two keys as shortcuts of the desktop, and which ones the desktop has given. The agent and
// the owner's window share the file ~/.config/happe/shortcuts.json, which exists while the user wants them.
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <optional>

namespace happe::ui {

// In the desktop's words ("Meta+F12"); empty as long as it has not said any.
struct Shortcuts {
    QString performance;
    QString power;
    bool operator==(const Shortcuts&) const = default;
};

// "Shortcuts: Meta+F12 for faster, Meta+F11 to save power.", in the user's language.
[[nodiscard]] QString shortcuts_in_words(const Shortcuts& shortcuts);

class ShortcutChoice final : public QObject {
    Q_OBJECT

public:
    ShortcutChoice();

    // None where they are not wanted.
    [[nodiscard]] static std::optional<Shortcuts> get();
    // False if the file cannot be written.
    static bool set(const std::optional<Shortcuts>& shortcuts);

signals:
    void changed();

private:
    QFileSystemWatcher folder_;
    std::optional<Shortcuts> told_;
};

}  // namespace happe::ui
