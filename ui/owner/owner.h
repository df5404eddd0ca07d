// SPDX-License-Identifier: GPL-2.0-or-later
// What the owner's window shows and does, without a window: happed on the system's bus, systemd on the session's.
#pragma once

#include "ui/bus/extension_watch.h"
#include "ui/bus/property_watch.h"
#include "ui/owner/owner_state.h"
#include "ui/shortcuts/shortcut_choice.h"
#ifndef Q_MOC_RUN
#include "governor/explain/reasons.h"
#endif

#include <QDBusConnection>
#include <QDBusMessage>
#include <QObject>
#include <QTimer>
#include <functional>

namespace happe::ui {

class Owner final : public QObject {
    Q_OBJECT

public:
    // `model`: of this machine's power, if there is one.
    Owner(QDBusConnection system_bus, QDBusConnection session_bus, std::optional<PowerModel> model = std::nullopt);

    [[nodiscard]] const OwnerState& state() const { return state_; }
    // This user's profiles, by application. The served application is among them even without a lesson.
    [[nodiscard]] const std::vector<OwnProfile>& profiles() const { return profiles_; }
    // Whose profile is shown: what is served, or was before this program's own window came to the front, until another
    // one is chosen.
    [[nodiscard]] const OwnProfile& shown() const { return shown_; }
    // The last ones, newest first.
    [[nodiscard]] const std::vector<Press>& presses() const { return presses_; }
    // Why the served application has its frequency; none where nothing is decided, or it is not for us to know.
    [[nodiscard]] std::optional<Reasons> reasons() const { return happe::reasons(situation_, lessons_); }
    // Against the kernel's governor, by the model; none without one.
    [[nodiscard]] const std::optional<TodaysSaving>& saving() const { return saving_; }
    // While somebody looks, and it discharges.
    [[nodiscard]] const std::optional<RealBattery>& battery() const { return battery_; }
    [[nodiscard]] bool paused() const { return pausing_ || hold_.has_value(); }
    // Whether happe-indicator starts with the session; none where no systemd says so.
    [[nodiscard]] std::optional<bool> autostart() const { return autostart_; }

    // Whether GNOME has HAPPE's extension, and does not run it.
    [[nodiscard]] bool extension_is_off() const { return extension_is_off_; }

    // Whether the desktop can have the two keys as shortcuts, and which it has given; none where the user wants none.
    [[nodiscard]] bool offers_shortcuts() const { return offers_shortcuts_; }
    [[nodiscard]] static std::optional<Shortcuts> shortcuts() { return ShortcutChoice::get(); }

    void choose(const QString& application);
    // Pauses HAPPE, or lets it continue. It also continues when this program ends.
    void pause(bool wanted);
    // Undoes this press of the shown profile, and all that the profile learned after it.
    void undo(const Press& press);
    // Deletes the shown profile.
    void reset();
    void set_autostart(bool wanted);
    void enable_extension();
    void want_shortcuts(bool wanted);
    // While somebody looks, it asks each second how much the CPU works, and each minute for today's saving, and follows
    // the battery.
    void watch(bool wanted);

signals:
    void changed();
    // A key was counted: its name on the bus.
    void counted(const QString& key);
    // How many presses were undone, and whether HAPPE can undo no older lesson although more were wanted.
    void undone(int presses, bool ended_early);
    // What was asked for was refused, in words.
    void refused(const QString& why);

private:
    void governor_is(const QVariantMap& properties);
    void governor_gone();
    void ask_profiles();
    void ask_presses();
    void ask_reasons();
    // `after`: the number of the lesson before the first one that is wanted.
    void ask_lessons(const QString& application, qlonglong after,
                     const std::function<void(const QString&, std::vector<LearningEvent>)>& take);
    void ask_saving();
    void battery_is(const std::optional<RealBattery>& battery);
    void ask_autostart();
    void ask_extension();
    void ask_portal();
    void change(const QString& application, const QString& method, const QList<QVariant>& more,
                const std::function<void(const QList<QVariant>&)>& take);
    void show_profile();
    void ask(const QDBusConnection& bus, const QDBusMessage& question,
             const std::function<void(const QList<QVariant>&)>& take, bool tell_refusal);

    QDBusConnection system_;
    QDBusConnection session_;
    PropertyWatch governor_;
    QTimer look_;
    QTimer count_;
    std::optional<PowerModel> model_;
    std::optional<TodaysSaving> saving_;
    std::optional<PropertyWatch> watched_battery_;
    std::optional<RealBattery> battery_;
    OwnerState state_;
    std::vector<OwnProfile> profiles_;
    Situation situation_;
    std::vector<LearningEvent> lessons_;  // of the served application
    QString served_;                      // last, and not this program
    QString chosen_;
    OwnProfile shown_;
    std::vector<Press> presses_;
    bool pausing_ = false;  // asked for, not yet answered
    std::optional<uint> hold_;
    std::optional<bool> autostart_;
    ExtensionWatch extension_;
    bool extension_is_off_ = false;
    ShortcutChoice choice_;
    bool offers_shortcuts_ = false;
};

}  // namespace happe::ui
