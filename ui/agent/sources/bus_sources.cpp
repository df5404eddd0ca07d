// SPDX-License-Identifier: GPL-2.0-or-later
// KWin and GNOME: our script or extension inside them reports by org.happe.Focus1.
#include "ui/agent/sources/sources.h"
#include "ui/bus/desktop_watch.h"
#include "ui/bus/property_watch.h"

#include <QCoreApplication>
#include <QDBusConnectionInterface>
#include <QDBusContext>
#include <QDBusError>
#include <QDBusMessage>
#include <QDBusPendingReply>
#include <QDBusServiceWatcher>
#include <QFile>
#include <QObject>
#include <QSaveFile>
#include <QStandardPaths>
#include <QTimer>
#include <utility>

namespace happe::ui {
namespace {

const QString kKWin = QStringLiteral("org.kde.KWin");
const QString kScript = QStringLiteral("happe-focus");
const QString kShell = QStringLiteral("org.gnome.Shell");

const QString kFocus = QStringLiteral("org.happe.Focus1");
const QString kFocusPath = QStringLiteral("/org/happe/Focus1");

bool is_there(const QDBusConnection& bus, const QString& name) {
    return bus.isConnected() && bus.interface()->isServiceRegistered(name).value();
}

QDBusMessage scripting(const QString& method) {
    return QDBusMessage::createMethodCall(kKWin, QStringLiteral("/Scripting"), QStringLiteral("org.kde.kwin.Scripting"),
                                          method);
}

// org.happe.Focus1 on the session bus. A script or extension inside a compositor calls it to report the active window.
class FocusObject final : public QObject, protected QDBusContext {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.happe.Focus1")

public:
    // `reporter`: the bus name of the compositor. Refuses calls from anybody else.
    FocusObject(QDBusConnection bus, const QString& reporter);
    ~FocusObject() override;

    // Takes the bus name. An error says who has it; empty: done.
    [[nodiscard]] std::string start();
    [[nodiscard]] const std::optional<ReportedWindow>& window() const { return window_; }

public slots:  // NOLINTBEGIN(readability-identifier-naming): their names on the bus
    // Numbers are text, because KWin's scripts have no integers. Pid 0: no window is active.
    void Focus(const QString& pid, const QString& id);
    // Reports an X11 client's window by its number; 0: none.
    void FocusX11(const QString& window, const QString& id);
    // Reports an X11 client's window without a number: the active window of the X server.
    void FocusActiveX11(const QString& id);
    // NOLINTEND(readability-identifier-naming)

signals:
    void changed();
    // The compositor has left the bus.
    void gone();

private:
    [[nodiscard]] bool from_reporter() const;
    [[nodiscard]] std::optional<int> number_from_reporter(const QString& name, const QString& text);

    QDBusConnection bus_;
    QString reporter_;
    QDBusServiceWatcher owner_;
    std::optional<ReportedWindow> window_;
    bool named_ = false;
};

FocusObject::FocusObject(QDBusConnection bus, const QString& reporter)
    : bus_(std::move(bus)), reporter_(reporter), owner_(reporter, bus_, QDBusServiceWatcher::WatchForUnregistration) {
    connect(&owner_, &QDBusServiceWatcher::serviceUnregistered, this, [this] { emit gone(); });
}

FocusObject::~FocusObject() {
    if (named_) {
        bus_.unregisterService(kFocus);
        bus_.unregisterObject(kFocusPath);
    }
}

std::string FocusObject::start() {
    // First the object: a caller that waits for the name calls at once.
    bus_.registerObject(kFocusPath, this, QDBusConnection::ExportScriptableContents | QDBusConnection::ExportAllSlots);
    if (!bus_.registerService(kFocus)) {
        bus_.unregisterObject(kFocusPath);
        return "another happe-indicator already receives the window in front: org.happe.Focus1 has an owner";
    }
    named_ = true;
    return {};
}

// False if the caller is not the reporter; the call is refused then.
bool FocusObject::from_reporter() const {
    const bool is_teller = message().service() == bus_.interface()->serviceOwner(reporter_).value();
    if (!is_teller) {
        sendErrorReply(QDBusError::AccessDenied, reporter_ + QStringLiteral(" alone says what is in front"));
    }
    return is_teller;
}

// The number in `text`; none if the call was refused.
std::optional<int> FocusObject::number_from_reporter(const QString& name, const QString& text) {
    if (!from_reporter()) {
        return std::nullopt;
    }
    bool is_number = false;
    const int number = text.toInt(&is_number);
    if (!is_number || number < 0) {
        sendErrorReply(QDBusError::InvalidArgs, name + QStringLiteral(": a number is wanted"));
        return std::nullopt;
    }
    return number;
}

void FocusObject::Focus(const QString& pid, const QString& id) {
    if (const auto number = number_from_reporter(QStringLiteral("pid"), pid)) {
        window_ = *number > 0 ? std::optional(ReportedWindow{.focus = {.pid = *number, .id = id}}) : std::nullopt;
        emit changed();
    }
}

void FocusObject::FocusX11(const QString& window, const QString& id) {
    if (const auto number = number_from_reporter(QStringLiteral("window"), window)) {
        const auto x11_window = static_cast<std::uint32_t>(*number);
        window_ = *number > 0 ? std::optional(ReportedWindow{.focus = {.pid = 0, .id = id}, .x11_window = x11_window})
                              : std::nullopt;
        emit changed();
    }
}

void FocusObject::FocusActiveX11(const QString& id) {
    if (from_reporter()) {
        window_ = ReportedWindow{.focus = {.pid = 0, .id = id}, .active_x11 = true};
        emit changed();
    }
}

// Answers with the last report.
class BusSource : public FocusSource {
public:
    BusSource(const QDBusConnection& bus, const QString& reporter, Events events)
        : bus_(bus), events_(std::move(events)), object_(bus, reporter) {
        QObject::connect(&object_, &FocusObject::changed, [this] { events_.changed(); });
        QObject::connect(&object_, &FocusObject::gone, [this, reporter] { lose(reporter.toStdString() + " is gone"); });
    }

    void ask() override {
        if (!std::exchange(started_, true)) {
            if (const std::string error = object_.start(); !error.empty()) {
                lose(error);
                return;
            }
            start();
        }
        const auto& window = object_.window();
        if (window && window->active_x11) {
            ask_x11();
            return;
        }
        x11_.reset();
        events_.answered(window ? checked(*window) : std::nullopt);
    }

protected:
    // Called when org.happe.Focus1 is on the bus.
    virtual void start() = 0;
    void lose(const std::string& why) {
        if (!std::exchange(lost_, true)) {
            events_.lost(why);
        }
    }
    [[nodiscard]] const QDBusConnection& bus() const { return bus_; }
    [[nodiscard]] FocusObject& object() { return object_; }

private:
    // The X server learns of its active window later than the reporter's report, and announces it then.
    void ask_x11() {
        if (!x11_) {
            auto opened = open_x11_focus({.changed = events_.changed,
                                          .answered = [this](const auto& active) { answer_x11(active); },
                                          .lost = [this](const auto&) { forget_x11(); }});
            x11_ = opened ? *std::move(opened) : nullptr;
        }
        if (x11_) {
            x11_->ask();
        } else {
            events_.answered(std::nullopt);
        }
    }

    // Until then the X server may still have another active window.
    void answer_x11(const std::optional<Focus>& active) {
        const bool told = active && active->id.compare(object_.window()->focus.id, Qt::CaseInsensitive) == 0;
        events_.answered(told ? active : std::nullopt);
    }

    // Destroys x11_ later, because x11_ itself makes this call.
    void forget_x11() {
        QTimer::singleShot(0, &object_, [this] { x11_.reset(); });
    }

    QDBusConnection bus_;
    Events events_;
    FocusObject object_;
    std::unique_ptr<FocusSource> x11_;  // while such a window is in front
    bool started_ = false;
    bool lost_ = false;
};

QString script_path() {
    return QStandardPaths::writableLocation(QStandardPaths::RuntimeLocation) + QStringLiteral("/happe-focus.js");
}

// Writes the script to a file that KWin can read, and returns its path; empty on failure.
QString script_file() {
    const QString path = script_path();
    QFile script(QStringLiteral(":/agent/kwin.js"));
    QSaveFile file(path);
    if (!script.open(QIODevice::ReadOnly)) {
        return {};
    }
    const QByteArray text = script.readAll();
    QFile before(path);
    // Does not write the same file again, because SourceWatch watches this folder.
    const bool there = before.open(QIODevice::ReadOnly) && before.readAll() == text;
    const bool written = there || (file.open(QIODevice::WriteOnly) && file.write(text) == text.size() && file.commit());
    return written ? path : QString();
}

class KWinSource final : public BusSource {
public:
    using BusSource::BusSource;
    ~KWinSource() override {
        if (loaded_) {
            unload();
        }
        // Keeps a script that KWin refused: SourceWatch would see its removal, and the agent would write it again at
        // once.
        if (runs_) {
            QFile::remove(script_path());
        }
    }

    [[nodiscard]] FocusBy by() const override { return FocusBy::KWin; }
    [[nodiscard]] QString name() const override { return QStringLiteral("KWin"); }

private:
    void unload() { bus().send(scripting(QStringLiteral("unloadScript")) << kScript); }

    // First unloads a script that a killed agent left.
    void start() override {
        const QString file = script_file();
        if (file.isEmpty()) {
            lose("the script for KWin cannot be written to XDG_RUNTIME_DIR");
            return;
        }
        unload();
        loaded_ = true;
        const QDBusMessage load = scripting(QStringLiteral("loadScript")) << file << kScript;
        ui::ask(bus(), load, &object(), [this](const QDBusMessage& answer) {
            const QDBusPendingReply<int> number(answer);
            if (number.isError() || number.value() < 0) {
                lose("KWin does not load the script: " + number.error().message().toStdString());
                return;
            }
            bus().send(scripting(QStringLiteral("start")));
            runs_ = true;
        });
    }

    bool loaded_ = false;
    bool runs_ = false;
};

class GnomeSource final : public BusSource {
public:
    GnomeSource(const QDBusConnection& bus, Events events)
        : BusSource(bus, kShell, std::move(events)), extension_(bus) {
        QObject::connect(&extension_, &ExtensionWatch::changed, [this](bool enabled) {
            if (!enabled) {
                lose("GNOME has switched HAPPE's extension off");
            }
        });
    }
    [[nodiscard]] FocusBy by() const override { return FocusBy::Gnome; }
    [[nodiscard]] QString name() const override { return QStringLiteral("GNOME"); }

private:
    void start() override {}  // the extension sees the name appear, and reports

    ExtensionWatch extension_;
};

}  // namespace

SourceOrError open_kwin_focus(const QDBusConnection& session_bus, FocusSource::Events events) {
    if (!is_there(session_bus, kKWin)) {
        return tl::unexpected<std::string>("KWin is not on the session's bus");
    }
    return std::make_unique<KWinSource>(session_bus, kKWin, std::move(events));
}

SourceOrError open_gnome_focus(const QDBusConnection& session_bus, FocusSource::Events events) {
    if (!is_there(session_bus, kShell)) {
        return tl::unexpected<std::string>("GNOME is not on the session's bus");
    }
    if (!ExtensionWatch::enabled(session_bus)) {
        return tl::unexpected<std::string>("GNOME reports which window is in front only with the extension HAPPE");
    }
    return std::make_unique<GnomeSource>(session_bus, std::move(events));
}

}  // namespace happe::ui

#include "bus_sources.moc"
