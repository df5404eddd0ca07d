// SPDX-License-Identifier: GPL-2.0-or-later
// A sitting, from the participant's link to the goodbye. The wizard writes each change into the journal before it acts
// on it, and reads from there what comes next (sitting.h). So a killed wizard continues where it was.
#pragma once

#include "ui/study/laptop/application.h"
#include "ui/study/laptop/daemon_proxy.h"
#include "ui/study/server/server.h"
#include "ui/study/server/uploader.h"
#include "ui/study/sitting/journal.h"
#include "ui/study/sitting/sitting.h"

#include <QObject>
#include <QTimer>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace happe::study {

// Counts a program's tasks, so that the program drops late answers to earlier tasks. Must outlive the functions that it
// returns.
class TaskCounter {
public:
    void next() { ++task_; }

    // Wraps an act: it does nothing if another task has begun meanwhile.
    template <typename F>
    auto if_current(F act) const {
        return [this, task = task_, act = std::move(act)](const auto&... told) {
            if (task == task_) {
                act(told...);
            }
        };
    }

    // Returns a function that tells whether no other task has begun.
    [[nodiscard]] std::function<bool()> is_current() const {
        return [this, task = task_] { return task == task_; };
    }

private:
    unsigned task_ = 0;
};

// The content of the window.
enum class Page : std::uint8_t {
    Welcome,      // asks for the participant's link
    Handout,      // in the browser
    Practice,     // practice with an application is next
    Ready,        // a run is next
    Waiting,      // for the server
    Countdown,    // `seconds` are left
    Playing,      // the wizard shows nothing
    Interrupted,  // the run begins again
    Rate,
    Guess,
    Stopped,  // aborted, not planned again yet
    Sending,  // all is done, but the server does not have all uploads
    Goodbye,
    Trouble,  // somebody must do something
};

struct View {
    Page page = Page::Welcome;
    std::size_t number = 0;  // the number of the run, from 1; 0: none
    std::size_t total = 0;
    QString application;
    QString code;  // the run's code, for the experimenter
    int seconds = 0;
    QString detail;  // the error, or what the wizard waits for
    Scale scale;
    Guess guess;
    bool practises = false;  // practice goes on
    bool may_stop = false;   // there is a run that the experimenter may stop
    bool may_leave = false;  // there is a participant, and no run is on
    bool refused = false;    // the server has refused a upload in the journal
};

struct WizardSettings {
    int countdown_s = 3;
    QString browser;  // a program that opens an address; empty: the desktop's browser
    QString state;    // the folder of the journal
    QUrl server;
};

class Wizard final : public QObject {
    Q_OBJECT

public:
    Wizard(WizardSettings settings, Journal& journal, Server& server, DaemonProxy& governor);
    ~Wizard() override = default;

    // Takes the next step. After a goodbye, waits for a new participant.
    void go_on();

    // Actions of people. Ignores actions that do not belong to the present page.
    void sit_down(const QString& link);
    void open_pages();
    void begin();
    void skip_practice();
    void rate(int rating);
    void guess(const std::string& choice);
    void try_again();
    // Actions of the experimenter.
    void stop_run(const QString& reason);
    void stop_practice();
    void stand_up();

    [[nodiscard]] const View& view() const { return view_; }

signals:
    void shows(const happe::study::View& view);

private:
    using Act = std::function<void()>;

    void show(Page page, const QString& detail = {});
    void fail(const QString& why, Act again);
    // Runs an act that may write to the journal. If writing fails, shows the trouble, and runs the act, or `again`,
    // when somebody tries again.
    void written(const Act& act) { written(act, act); }
    void written(const Act& act, const Act& again);
    void later(int wait_ms, const Act& act);

    [[nodiscard]] const PlannedRun& planned() const { return sitting_->runs.at(run_); }
    [[nodiscard]] std::optional<KnownRun> known();
    void look_into_journal();
    [[nodiscard]] QString code() const { return QString::fromStdString(planned().code); }

    void enter_phase();
    void refresh(const Act& then);
    void refreshed(const Answer& answer, const Act& then);
    void refused_seat(const Answer& answer, const Act& then);
    void wait_for_another_run();
    void take_back_abortion();
    void compare_clocks(const Act& then);
    void beat();
    void send_beat();
    void finish();
    void leave_seat();
    void forget_participant();

    // The steps of a run, in this order.
    void fetch_seal();
    void count_down(int seconds, const QByteArray& seal);
    void start_run(const QByteArray& seal);
    void play(const QString& governor_run);
    void end_run();
    void keep_recording(const Recording& recording);
    void recover();
    void interrupted(const QString& why, const std::string& note);
    void abandon();
    void abort(const std::string& reason, const std::optional<Recording>& recording);

    void settle_rating(int rating);
    void practise();
    // Makes HAPPE step aside for the practised application: for practice, and again when happed has restarted.
    void hold(const Act& then);
    void end_practice();
    void application_ended(const QString& why);

    WizardSettings settings_;
    Journal& journal_;
    Server& server_;
    DaemonProxy& governor_;
    Uploader uploader_;
    Application application_;
    QTimer clock_;  // the time of the run or of practice
    View view_;
    std::optional<Sitting> sitting_;
    std::size_t run_ = 0;  // the index of the run in the sitting
    TaskCounter tasks_;
    QString governor_run_;      // happed's name of the run that is on
    std::optional<uint> hold_;  // during practice: the cookie of the hold
    std::string practised_;     // during practice: the application's key
    Act again_;                 // the act to repeat after trouble
    QByteArray next_beat_;      // the heartbeat that waits for the one on its way. Empty: none waits.
    bool beats_ = false;        // a heartbeat is on its way
};

}  // namespace happe::study
