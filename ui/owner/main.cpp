// SPDX-License-Identifier: GPL-2.0-or-later
// happe-tray: the owner's window, and an icon in the desktop's tray with a menu. happe-indicator starts it.
//   usage: happe-tray            the icon, by lines on standard input: a PNG in base64, a space and the icon's text; an
//                                empty line hides the icon. It ends with its input.
//          happe-tray --window   the window; it ends when somebody closes the window
// HAPPE_POWER_MODEL, which happe-indicator sets, names the file of this machine's power model.
#include "ui/owner/owner_window.h"
#include "ui/owner/owner_words.h"
#include "ui/owner/widgets.h"
#include "ui/program.h"

#include <sysexits.h>
#include <unistd.h>
#include <QApplication>
#include <QIcon>
#include <QMenu>
#include <QPixmap>
#include <QSocketNotifier>
#include <QSystemTrayIcon>
#include <array>
#include <cstdio>

namespace happe::ui {
namespace {

// Shows the icon when the indicator says so, and while the user has paused HAPPE here, so that they can continue it
// here.
class Icon {
public:
    explicit Icon(const Owner& owner) : owner_(owner) {}

    void obey(const QByteArray& line) {
        const qsizetype space = line.indexOf(' ');
        wanted_ = space >= 0;
        if (wanted_) {
            QPixmap picture;
            picture.loadFromData(QByteArray::fromBase64(line.first(space)), "PNG");
            icon_.setIcon(QIcon(picture));
            icon_.setToolTip(QString::fromUtf8(line.sliced(space + 1)));
        }
        update();
    }

    void update() {
        if (!wanted_ && owner_.paused()) {
            icon_.setToolTip(OwnerWords::doing(owner_.state()));
        }
        icon_.setVisible(wanted_ || owner_.paused());
    }

    [[nodiscard]] QSystemTrayIcon& get() { return icon_; }

private:
    const Owner& owner_;
    QSystemTrayIcon icon_;
    bool wanted_ = false;
};

// Reads the input that has arrived; false at its end.
bool read_into(QByteArray& lines) {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    lines.append(buffer.data(), std::max<ssize_t>(count, 0));
    return count > 0;
}

void bring_up(QWidget& window) {
    window.show();
    window.raise();
    window.activateWindow();
}

// The icon's menu.
class Menu final : public QMenu {
public:
    Menu(Owner& owner, QWidget& window) {
        addAction(QStringLiteral("&Open HAPPE"), this, [&window] { bring_up(window); });
        QAction* const pause = addAction(QStringLiteral("&Pause HAPPE"));
        pause->setCheckable(true);
        connect(pause, &QAction::triggered, this, [&owner](bool wanted) { owner.pause(wanted); });
        QAction* const undo = addAction(QStringLiteral("&Undo the last press"));
        connect(undo, &QAction::triggered, this, [&owner] {
            if (!owner.presses().empty()) {
                owner.undo(owner.presses().front());
            }
        });
        connect(&owner, &Owner::changed, this, [&owner, pause, undo] {
            undo->setEnabled(!owner.presses().empty());
            pause->setChecked(owner.paused());
            pause->setEnabled(owner.state().there);
        });
    }
};

// None if happe-indicator names no model, or if reading it fails.
std::optional<PowerModel> own_model() {
    const QString file = qEnvironmentVariable("HAPPE_POWER_MODEL");
    if (file.isEmpty()) {
        return std::nullopt;
    }
    auto model = PowerModel::read(file.toStdString());
    if (!model) {
        std::fputs(("happe-tray: " + model.error() + "\n").c_str(), stderr);
        return std::nullopt;
    }
    return *std::move(model);
}

int run_icon(Owner& owner, OwnerWindow& window) {
    if (!QSystemTrayIcon::isSystemTrayAvailable()) {
        std::fputs("this desktop has no tray; GNOME has one with the extension AppIndicator\n", stderr);
        return EX_UNAVAILABLE;
    }
    QApplication::setQuitOnLastWindowClosed(false);
    Menu menu(owner, window);
    Icon icon(owner);
    icon.get().setContextMenu(&menu);
    QObject::connect(&owner, &Owner::changed, &menu, [&icon] { icon.update(); });
    QObject::connect(&owner, &Owner::refused, &menu, [&icon, &window](const QString& why) {
        if (!window.isVisible()) {
            icon.get().showMessage(window.windowTitle(), QStringLiteral("Refused: %1").arg(why));
        }
    });
    QObject::connect(&icon.get(), &QSystemTrayIcon::activated, &window, [&](QSystemTrayIcon::ActivationReason reason) {
        if (reason == QSystemTrayIcon::Trigger) {
            bring_up(window);
        }
    });
    QByteArray lines;
    const QSocketNotifier readable(STDIN_FILENO, QSocketNotifier::Read);
    QObject::connect(&readable, &QSocketNotifier::activated, &window, [&] {
        if (!read_into(lines)) {
            QCoreApplication::exit();  // quit() asks the windows, and a dialog may refuse
            return;
        }
        for (qsizetype end = lines.indexOf('\n'); end >= 0; end = lines.indexOf('\n')) {
            icon.obey(lines.first(end));
            lines.remove(0, end + 1);
        }
    });
    std::puts("ready");
    std::fflush(stdout);
    return QApplication::exec();
}

}  // namespace
}  // namespace happe::ui

int main(int argc, char** argv) {
    if (!happe::ui::has_screen("happe-tray")) {
        return EX_UNAVAILABLE;
    }
    QApplication application(argc, argv);
    QGuiApplication::setDesktopFileName(QStringLiteral("org.happe.Window"));
    happe::ui::Owner owner(QDBusConnection::systemBus(), QDBusConnection::sessionBus(), happe::ui::own_model());
    happe::ui::OwnerWindow window(owner);
    const happe::ui::DarkStyle style(QDBusConnection::sessionBus());
    if (QCoreApplication::arguments().value(1) == QLatin1String("--window")) {
        window.show();
        return QApplication::exec();
    }
    return happe::ui::run_icon(owner, window);
}
