// SPDX-License-Identifier: GPL-2.0-or-later
// Builds and connects the wizard's parts.
#include "ui/program.h"
#include "ui/study/commands.h"
#include "ui/study/laptop/x11_desktop.h"
#include "ui/study/server/enrolment.h"
#include "ui/study/window/window.h"
#include "ui/study/wizard.h"

#include <sysexits.h>
#include <QApplication>
#include <QTimer>

namespace happe::study {
namespace {

PageActions actions_of(Wizard& wizard, std::function<void()> back) {
    return {.sit_down = [&](const QString& link) { wizard.sit_down(link); },
            .open_pages = [&] { wizard.open_pages(); },
            .begin = [&] { wizard.begin(); },
            .skip_practice = [&] { wizard.skip_practice(); },
            .rate = [&](int rating) { wizard.rate(rating); },
            .guess = [&](const std::string& choice) { wizard.guess(choice); },
            .try_again = [&] { wizard.try_again(); },
            .go_on = [&] { wizard.go_on(); },
            .stop_run =
                [&, back](const QString& reason) {
                    back();
                    wizard.stop_run(reason);
                },
            .stop_practice =
                [&, back] {
                    back();
                    wizard.stop_practice();
                },
            .stand_up =
                [&, back] {
                    back();
                    wizard.stand_up();
                },
            .leave = [] { QCoreApplication::exit(EX_OK); },  // quit() would ask the window, which refuses
            .back = back};
}

}  // namespace

int run_wizard(const Options& options) {
    const auto laptop = open_laptop(options, "another wizard is running");
    if (!laptop) {
        return laptop.error();
    }
    Journal& journal = *laptop->journal;
    const auto found_by_abort = take_lock(QString::fromStdString(options.state), kWizardLock);
    Server server(laptop->enrolment.server, laptop->enrolment.token);
    DaemonProxy governor(QDBusConnection::systemBus());
    Wizard wizard({.countdown_s = options.countdown_s,
                   .browser = QString::fromStdString(options.browser),
                   .state = QString::fromStdString(options.state),
                   .server = laptop->enrolment.server},
                  journal, server, governor);
    Window* shown = nullptr;
    Window window(actions_of(wizard, [&shown] { shown->dismiss_experimenter(); }), options.settle_ms);
    shown = &window;
    QObject::connect(&wizard, &Wizard::shows, &window, &Window::show_view);
    const X11Desktop desk;
    QObject::connect(&desk, &X11Desktop::pressed, &window, &Window::call_experimenter);
    QObject::connect(&window, &Window::comes_forward, &desk, &X11Desktop::bring_forward);
    const ui::UnixSignals asked(kAsked);
    QObject::connect(&asked, &ui::UnixSignals::came, &window, [&window](int number) {
        number == SIGUSR1 ? window.call_experimenter() : QCoreApplication::exit(EX_OK);
    });
    QTimer::singleShot(0, &wizard, [&] { wizard.go_on(); });
    return QApplication::exec();
}

}  // namespace happe::study
