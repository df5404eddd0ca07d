// SPDX-License-Identifier: GPL-2.0-or-later
// The user's choice to have the two keys as shortcuts of the desktop, and the shortcuts that the desktop has given. The
// agent and the owner's window share the file ~/.config/happe/shortcuts.json, which exists while the user wants them.
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <optional>

namespace happe::ui {

// The desktop's names of the shortcuts ("Meta+F12"); empty until it has given some.
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

    // None if the user wants no shortcuts.
    [[nodiscard]] static std::optional<Shortcuts> get();
    // False if writing the file fails.
    static bool set(const std::optional<Shortcuts>& shortcuts);

signals:
    void changed();

private:
    void watch_folder();

    QFileSystemWatcher folder_;
    std::optional<Shortcuts> told_;
};

}  // namespace happe::ui
