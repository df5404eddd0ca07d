// SPDX-License-Identifier: GPL-2.0-or-later
// A study at home, where a run is a day of use: docs/study-at-home.md. Like the wizard, it writes each change into the
// journal before it acts on it, and reads from there what comes next (sitting/days.h).
#pragma once

#include "ui/study/laptop/daemon_proxy.h"
#include "ui/study/server/postman.h"
#include "ui/study/server/server.h"
#include "ui/study/sitting/days.h"
#include "ui/study/sitting/journal.h"
#include "ui/study/turns.h"
#include "ui/study/window/view.h"

#include <QObject>
#include <QTimer>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace happe::study {

struct HomeHabits {
    std::int64_t day_begins_s = 0;  // after midnight, in local time
    QString state;                  // the folder of the journal
    std::chrono::seconds piece{};   // the length of a piece while the server answers
};

class AtHome final : public QObject {
    Q_OBJECT

public:
    AtHome(HomeHabits habits, Journal& journal, Server& server, DaemonProxy& governor);
    ~AtHome() override = default;

    // Does whatever is next. Somebody must have joined.
    void go_on();
    // Ends the piece that is on, stores it, and ends.
    void stop();

    // Actions of the participant. Ignores answers that do not belong to the question.
    void rate(int rating);
    void guess(const std::string& choice);
    // Ends the piece that is on, forgets the link, sends what is here, and ends.
    void leave();

signals:
    // Page::Rate and Page::Guess wait for an answer. Page::Goodbye: the study is over. Page::Playing: nothing to show.
    void shows(const happe::study::View& view);
    void ended(int status);

private:
    using Act = std::function<void()>;

    // Runs an act that may write to the journal. If writing fails, everything is tried again later.
    void written(const Act& act);
    void later(int wait_ms, const Act& act);
    // Writes the trouble into the log, unless it is the last one again. Then tries again, later each time.
    void retry(const std::string& trouble);

    [[nodiscard]] const PlannedRun& planned() const { return sitting_->runs.at(run_); }
    [[nodiscard]] QString code() const { return QString::fromStdString(planned().code); }
    [[nodiscard]] std::optional<KnownRun> known();
    [[nodiscard]] Doing look();
    [[nodiscard]] bool day_is_over() const;
    void show(Page page);

    void take_turn();
    void act();
    void look_at_clock();
    void refresh(const Act& then);
    void refreshed(const Answer& answer, const Act& then);
    void compare_clocks(const Act& then);

    void prepare();
    void fetch_seal(const std::function<void(const QByteArray&)>& then);
    void begin_piece(const QByteArray& seal);
    void renew_piece();
    void end_piece();
    // `run`: the code of the piece's run. The server may have planned another one in its place since.
    void fetch(const QString& governor_run, const std::string& run);
    void keep(const std::string& run, const Said<Recording>& recording);

    void settle(Step step, const std::optional<int>& rating, std::vector<Letter> letters);
    void depart();
    void end_without_seat();
    void finish();
    void stand_up();

    HomeHabits habits_;
    Journal& journal_;
    Server& server_;
    DaemonProxy& governor_;
    Postman postman_;
    QTimer clock_;  // when to look whether the day is over
    QTimer age_;    // when a new piece should replace the one that is on
    QTimer limit_;  // when the piece that is on must end
    std::optional<Sitting> sitting_;
    std::size_t run_ = 0;  // the index of the run in the sitting
    std::optional<Day> day_;
    Doing doing_ = Doing::Begin;
    Turns turns_;
    QString piece_;          // happed's name of the piece that is on
    std::string piece_run_;  // the code of its run
    QByteArray next_seal_;   // of the piece that follows at once; never stored
    bool fetching_ = false;  // a piece, from happed
    bool comparing_ = false;
    bool stopping_ = false;
    bool leaving_ = false;
    bool withdrawn_ = false;
    int wait_ms_ = 0;  // before the next try
    std::string trouble_;
};

}  // namespace happe::study
