// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/owner/owner.h"

#include "ui/bus/bus_objects.h"

#include <QDBusArgument>
#include <algorithm>
#include <chrono>
#include <utility>

namespace happe::ui {
namespace {

constexpr std::chrono::seconds kLook{1};
constexpr std::chrono::minutes kCount{1};
constexpr std::size_t kShownPresses = 20;
constexpr uint kMostEvents = 10'000;
constexpr std::size_t kMostUndone = 1000;

// What happed serves while no window has the keyboard, as in the moment after this window's question closes.
const QString kNobody = QStringLiteral("desktop");

const QString kUnit = QStringLiteral("happe-indicator.service");

QDBusMessage to_systemd(const QString& method) {
    return QDBusMessage::createMethodCall(QStringLiteral("org.freedesktop.systemd1"),
                                          QStringLiteral("/org/freedesktop/systemd1"),
                                          QStringLiteral("org.freedesktop.systemd1.Manager"), method);
}

}  // namespace

Owner::Owner(QDBusConnection system_bus, QDBusConnection session_bus, std::optional<PowerModel> model)
    : system_(std::move(system_bus)),
      session_(std::move(session_bus)),
      governor_(system_, governor_object(), QStringLiteral("KeyCounted")),
      model_(std::move(model)),
      extension_(session_) {
    connect(&extension_, &ExtensionWatch::changed, this, [this] { ask_extension(); });
    connect(&governor_, &PropertyWatch::there, this, &Owner::governor_is);
    connect(&governor_, &PropertyWatch::gone, this, &Owner::governor_gone);
    connect(&governor_, &PropertyWatch::signalled, this, [this](const QString& key) {
        ask_profiles();
        ask_presses();
        ask_reasons();
        emit counted(key);
    });
    connect(this, &Owner::refused, this, &Owner::changed);
    look_.setInterval(kLook);
    connect(&look_, &QTimer::timeout, this, [this] {
        if (state_.there) {
            governor_.refresh();
        }
    });
    count_.setInterval(kCount);
    connect(&count_, &QTimer::timeout, this, &Owner::ask_saving);
    ask_extension();
}

void Owner::governor_is(const QVariantMap& properties) {
    const OwnerState before = std::exchange(state_, owner_state_of(properties));
    const Situation earlier = std::exchange(situation_, situation_of(properties));
    if (!state_.application.isEmpty() && !is_this_window(state_.application) &&
        (state_.application != kNobody || served_.isEmpty())) {
        served_ = state_.application;
    }
    if (!before.there) {
        ask_saving();
    }
    if (!before.there || before.application != state_.application) {
        ask_profiles();
        lessons_.clear();
        ask_reasons();
    } else if (earlier.profile != situation_.profile) {
        ask_reasons();  // a probe may have taught it
    }
    const QString shown = shown_.application;
    show_profile();
    if (before.application != state_.application && shown == shown_.application) {
        ask_presses();  // another program may have undone some meanwhile
    }
}

void Owner::governor_gone() {
    state_ = {};
    situation_ = {};
    lessons_.clear();
    profiles_.clear();
    presses_.clear();
    saving_.reset();
    served_.clear();
    pausing_ = false;
    hold_.reset();
    show_profile();
}

void Owner::watch(bool wanted) {
    if (wanted) {
        governor_.refresh();
        ask_saving();
        ask_autostart();
        look_.start();
        count_.start();
        watched_battery_.emplace(system_, battery_object());
        connect(&*watched_battery_, &PropertyWatch::there, this,
                [this](const QVariantMap& properties) { battery_is(battery_of(properties)); });
        connect(&*watched_battery_, &PropertyWatch::gone, this, [this] { battery_is(std::nullopt); });
    } else {
        watched_battery_.reset();
        look_.stop();
        count_.stop();
    }
}

void Owner::battery_is(const std::optional<RealBattery>& battery) {
    battery_ = battery;
    emit changed();
}

void Owner::choose(const QString& application) {
    chosen_ = application;
    show_profile();
}

// Untaught profiles are the ladder's lowest frequency at every level.
void Owner::show_profile() {
    const QString before = std::exchange(shown_, {chosen_.isEmpty() ? served_ : chosen_, {}}).application;
    const auto found = std::ranges::find(profiles_, shown_.application, &OwnProfile::application);
    if (found != profiles_.end()) {
        shown_ = *found;
    } else if (!state_.ladder_khz.empty()) {
        shown_.khz.assign(kLevels, state_.ladder_khz.front());
    }
    if (shown_.application != before) {
        presses_.clear();
        ask_presses();
    }
    emit changed();
}

void Owner::ask(const QDBusConnection& bus, const QDBusMessage& question, const Take& take) {
    ui::ask(bus, question, this, [take](const QDBusMessage& answer) {
        if (answer.type() == QDBusMessage::ReplyMessage) {
            take(answer.arguments());
        }
    });
}

void Owner::order(const QDBusConnection& bus, const QDBusMessage& what, const Take& take) {
    ui::ask(bus, what, this, [this, take](const QDBusMessage& answer) {
        if (answer.type() != QDBusMessage::ReplyMessage) {
            emit refused(answer.errorMessage());
        } else if (take) {
            take(answer.arguments());
        }
    });
}

void Owner::ask_profiles() {
    ask(system_, to_governor(QStringLiteral("ListProfiles")) << QString(), [this](const QList<QVariant>& answer) {
        profiles_ = profiles_of(answer.value(0));
        show_profile();
    });
}

void Owner::ask_presses() {
    ask_lessons(shown_.application, 0, [this](const QString& application, std::vector<LearningEvent> lessons) {
        if (application == shown_.application) {
            presses_ = standing(lessons);
            std::erase_if(presses_, [](const LearningEvent& event) { return event.lesson.probe; });
            std::ranges::reverse(presses_);
            presses_.resize(std::min(presses_.size(), kShownPresses));
        }
    });
}

// The window may show another application's profile meanwhile.
void Owner::ask_reasons() {
    ask_lessons(state_.application, 0, [this](const QString& application, std::vector<LearningEvent> lessons) {
        if (application == state_.application) {
            lessons_ = std::move(lessons);
        }
    });
}

void Owner::ask_lessons(const QString& application, qlonglong after,
                        const std::function<void(const QString&, std::vector<LearningEvent>)>& take) {
    if (application.isEmpty()) {
        return;
    }
    ask(system_, to_governor(QStringLiteral("ListEvents")) << QString() << application << after << uint{kMostEvents},
        [this, application, take](const QList<QVariant>& answer) {
            take(application, lessons_of(answer.value(0)));
            emit changed();
        });
}

void Owner::ask_saving() {
    if (!model_ || !state_.there) {
        return;
    }
    ask(system_, to_governor(QStringLiteral("TimeSpent")), [this](const QList<QVariant>& answer) {
        saving_ = saving_of(answer.value(0), state_.speeds_khz, *model_);
        emit changed();
    });
}

void Owner::pause(bool wanted) {
    continues_ = !wanted;
    if (wanted && !pausing_ && !hold_) {
        pausing_ = true;
        const QDBusMessage hold = to_governor(QStringLiteral("Hold"))
                                  << QStringLiteral("HAPPE") << QStringLiteral("paused by its user");
        ui::ask(system_, hold, this, [this](const QDBusMessage& answer) {
            if (answer.type() == QDBusMessage::ReplyMessage) {
                hold_ = answer.arguments().value(0).toUInt();
            } else {
                emit refused(answer.errorMessage());
            }
            pausing_ = false;
            pause(!continues_ && hold_);  // the user may want the opposite by now
        });
    } else if (!wanted && hold_) {
        order(system_, to_governor(QStringLiteral("Release")) << *std::exchange(hold_, std::nullopt));
    }
    emit changed();
}

// happed undoes a number of lessons. Since the last answer a press or a probe may have taught one more.
void Owner::undo(const LearningEvent& press) {
    ask_lessons(shown_.application, press.seq - 1,
                [this](const QString& application, const std::vector<LearningEvent>& events) {
                    const std::size_t wanted = std::min(standing(events).size(), kMostUndone);
                    if (wanted == 0) {
                        ask_presses();  // the press is undone already
                        return;
                    }
                    change(application, QStringLiteral("Undo"), {static_cast<uint>(wanted)},
                           [this, wanted](const QList<QVariant>& answer) {
                               const auto lessons = undone_of(answer.value(0));
                               const auto probes = std::ranges::count_if(
                                   lessons, [](const LearningEvent& event) { return event.lesson.probe; });
                               emit undone(static_cast<int>(std::ssize(lessons) - probes), lessons.size() < wanted);
                           });
                });
}

void Owner::reset(const QString& application) {
    change(application, QStringLiteral("ResetProfile"), {}, [](const auto& /*number*/) {});
}

void Owner::change(const QString& application, const QString& method, const QList<QVariant>& more, const Take& take) {
    QDBusMessage call = to_governor(method);
    call.setArguments(QList<QVariant>{QString(), application} + more);
    order(system_, call, [this, take](const QList<QVariant>& answer) {
        take(answer);
        ask_profiles();
        ask_presses();
        ask_reasons();
    });
}

void Owner::ask_autostart() {
    ask(session_, to_systemd(QStringLiteral("GetUnitFileState")) << kUnit, [this](const QList<QVariant>& answer) {
        autostart_ = answer.value(0).toString() == QLatin1String("enabled");
        emit changed();
    });
}

void Owner::ask_extension() {
    ask(session_, ExtensionWatch::call(QStringLiteral("GetExtensionInfo")), [this](const QList<QVariant>& answer) {
        const auto info = qdbus_cast<QVariantMap>(answer.value(0));  // empty: GNOME lacks the extension
        extension_is_off_ = !info.isEmpty() && !ExtensionWatch::is_enabled(info);
        emit changed();
    });
}

void Owner::enable_extension() {
    order(session_, ExtensionWatch::call(QStringLiteral("EnableExtension")));
}

void Owner::set_autostart(bool wanted) {
    QDBusMessage call = to_systemd(wanted ? QStringLiteral("EnableUnitFiles") : QStringLiteral("DisableUnitFiles"));
    call << QStringList{kUnit} << false;
    if (wanted) {
        call << false;  // replaces nothing
    }
    order(session_, call, [this](const auto& /*changes*/) {
        session_.send(to_systemd(QStringLiteral("Reload")));
        ask_autostart();
    });
}

}  // namespace happe::ui
