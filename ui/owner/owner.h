// SPDX-License-Identifier: GPL-2.0-or-later
// The data and actions of the owner's window, without the window. It uses happed on the system bus and systemd on the
// session bus.
#pragma once

#include "ui/bus/desktop_watch.h"
#include "ui/bus/property_watch.h"
#include "ui/owner/owner_state.h"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QObject>
#include <QTimer>
#include <functional>

namespace happe::ui {

class Owner final : public QObject {
    Q_OBJECT

public:
    // `model`: this machine's power model, if there is one.
    Owner(QDBusConnection system_bus, QDBusConnection session_bus, std::optional<PowerModel> model = std::nullopt);

    [[nodiscard]] const OwnerState& state() const { return state_; }
    // This user's profiles, by application. Contains the served application even if it has no lesson.
    [[nodiscard]] const std::vector<OwnProfile>& profiles() const { return profiles_; }
    // The profile that the window shows: the one that the user chose; otherwise that of the last served
    // application, which is neither this window nor, if there was another, "desktop".
    [[nodiscard]] const OwnProfile& shown() const { return shown_; }
    // The last presses of the shown profile, newest first.
    [[nodiscard]] const std::vector<LearningEvent>& presses() const { return presses_; }
    // Why the served application has its frequency. None if happed has decided nothing, or hides it from us.
    [[nodiscard]] std::optional<Reasons> reasons() const { return happe::reasons(situation_, lessons_); }
    // Today's saving compared with the kernel's governor, by the model; none without a model.
    [[nodiscard]] const std::optional<TodaysSaving>& saving() const { return saving_; }
    // The battery, while somebody looks and it discharges.
    [[nodiscard]] const std::optional<RealBattery>& battery() const { return battery_; }
    [[nodiscard]] bool paused() const { return (pausing_ || hold_.has_value()) && !continues_; }
    // Whether happe-indicator starts with the session; none if no systemd answers.
    [[nodiscard]] std::optional<bool> autostart() const { return autostart_; }

    // True if GNOME has HAPPE's extension but does not run it.
    [[nodiscard]] bool extension_is_off() const { return extension_is_off_; }

    void choose(const QString& application);
    // Pauses HAPPE, or lets it continue. It also continues when this program ends.
    void pause(bool wanted);
    // Undoes this press of the shown profile and all its later lessons.
    void undo(const LearningEvent& press);
    // Deletes an application's profile.
    void reset(const QString& application);
    void set_autostart(bool wanted);
    void enable_extension();
    // Call with true while somebody looks. Then asks for the CPU's work each second and for today's saving each minute,
    // and follows the battery.
    void watch(bool wanted);

signals:
    void changed();
    // happed has counted a key: its name on the bus.
    void counted(const QString& key);
    // How many presses HAPPE has undone, and whether it could undo fewer than the user wanted.
    void undone(int presses, bool ended_early);
    // A request has failed, for this reason.
    void refused(const QString& why);

private:
    using Take = std::function<void(const QList<QVariant>&)>;

    void governor_is(const QVariantMap& properties);
    void governor_gone();
    void ask_profiles();
    void ask_presses();
    void ask_reasons();
    // Asks for the lessons with numbers above `after`.
    void ask_lessons(const QString& application, qlonglong after,
                     const std::function<void(const QString&, std::vector<LearningEvent>)>& take);
    void ask_saving();
    void battery_is(const std::optional<RealBattery>& battery);
    void ask_autostart();
    void ask_extension();
    void change(const QString& application, const QString& method, const QList<QVariant>& more, const Take& take);
    void show_profile();
    void ask(const QDBusConnection& bus, const QDBusMessage& question, const Take& take);
    // The same, and emits refused().
    void order(const QDBusConnection& bus, const QDBusMessage& what, const Take& take = {});

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
    QString served_;                      // the application whose profile the window shows if the user chose none
    QString chosen_;
    OwnProfile shown_;
    std::vector<LearningEvent> presses_;
    bool pausing_ = false;    // requested, but not yet answered
    bool continues_ = false;  // the user wants HAPPE to continue
    std::optional<uint> hold_;
    std::optional<bool> autostart_;
    ExtensionWatch extension_;
    bool extension_is_off_ = false;
};

}  // namespace happe::ui
