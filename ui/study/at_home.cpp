// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/at_home.h"

#include "ui/study/laptop/browser.h"
#include "ui/study/recordings.h"
#include "ui/study/server/requests.h"
#include "ui/study/words/log.h"

#include <sysexits.h>
#include <QThread>
#include <algorithm>
#include <chrono>
#include <ctime>

namespace happe::study {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr milliseconds kClock = 20s;  // between looks at the wall clock
constexpr milliseconds kLook = 30s;   // between questions to the server for changes
constexpr milliseconds kFirstWait = 1s;
constexpr milliseconds kLongestWait = 60s;
constexpr std::size_t kMostPieces = 1000;

WallTime wall_time() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return {.unix_s = now, .utc_offset_s = local.tm_gmtoff};
}

}  // namespace

AtHome::AtHome(HomeHabits habits, Journal& journal, Server& server, DaemonProxy& governor)
    : habits_(std::move(habits)), journal_(journal), server_(server), governor_(governor), postman_(journal, server) {
    age_.setSingleShot(true);
    const milliseconds longest = std::chrono::seconds(longest_piece_s(QThread::idealThreadCount()));
    age_.setInterval(std::min<milliseconds>(habits_.piece, longest - 1min));
    limit_.setSingleShot(true);
    limit_.setInterval(longest);
    clock_.start(kClock);
    connect(&age_, &QTimer::timeout, this, &AtHome::renew_piece);
    connect(&limit_, &QTimer::timeout, this, &AtHome::end_piece);
    connect(&clock_, &QTimer::timeout, this, &AtHome::look_at_clock);
    connect(&governor_, &DaemonProxy::gone, this, [this] {
        if (!std::exchange(piece_, {}).isEmpty()) {
            go_on();
        }
    });
    connect(&governor_, &DaemonProxy::came, this, [this] {
        wait_ms_ = 0;
        if (doing_ == Doing::Begin || doing_ == Doing::Recover) {
            go_on();
        }
    });
}

void AtHome::written(const Act& act) try { act(); } catch (const JournalError& error) {
    if (const QString lost = std::exchange(piece_, {}); !lost.isEmpty()) {
        governor_.stop(lost, [](const Said<QByteArray>&) {});
    }
    if (stopping_) {
        log(error.what());
        emit ended(EX_IOERR);
    } else {
        retry(error.what());
    }
}

void AtHome::later(int wait_ms, const Act& act) {
    QTimer::singleShot(wait_ms, this, turns_.still([this, act] { written(act); }));
}

void AtHome::retry(const std::string& trouble) {
    if (trouble != trouble_) {
        log(trouble);
        trouble_ = trouble;
    }
    constexpr int kFirst = kFirstWait.count();
    constexpr int kLongest = kLongestWait.count();
    wait_ms_ = std::clamp(2 * wait_ms_, kFirst, kLongest);
    turns_.next();
    later(wait_ms_, [this] { go_on(); });
}

std::optional<KnownRun> AtHome::known() {
    const auto runs = journal_.runs();
    const auto found = std::ranges::find(runs, planned().code, &KnownRun::code);
    return found == runs.end() ? std::nullopt : std::optional(*found);
}

bool AtHome::day_is_over() const {
    return day_ && is_over(*day_, wall_time(), habits_.day_begins_s, planned().seconds);
}

Doing AtHome::look() {
    const Next now = next(*sitting_, journal_.runs(), {});
    run_ = now.run;
    day_ = run_ < sitting_->runs.size() ? journal_.day(planned().code) : std::nullopt;
    return doing(now.turn, day_, !piece_.isEmpty(), day_is_over());
}

void AtHome::show(Page page) {
    View view{.page = page, .total = sitting_ ? sitting_->runs.size() : 0};
    if (page == Page::Rate || page == Page::Guess) {
        view.number = run_ + 1;
        view.code = code();
        view.scale = sitting_->rating;
        view.guess = sitting_->guess.value_or(Guess());
    }
    emit shows(view);
}

void AtHome::go_on() {
    turns_.next();
    if (!fetching_) {  // otherwise keep() goes on
        written([this] { take_turn(); });
    }
}

void AtHome::take_turn() {
    const auto seat = journal_.seat();
    if (!seat) {  // the participant has left; what they left behind may still wait
        postman_.go();
        return stopping_ ? emit ended(EX_OK) : postman_.when_done([this] { end_without_seat(); });
    }
    if (auto read = read_sitting(seat->told); read && !sitting_) {
        sitting_ = *std::move(read);
    }
    if (sitting_) {
        postman_.go();
        act();
    } else if (stopping_) {
        emit ended(EX_OK);
    } else {
        leaving_ ? depart() : refresh([this] { go_on(); });
    }
}

void AtHome::act() {
    doing_ = look();
    if (!piece_.isEmpty() && (stopping_ || leaving_ || doing_ != Doing::Wait)) {
        return end_piece();
    }
    if (stopping_) {
        emit ended(EX_OK);
        return;
    }
    if (leaving_ && doing_ != Doing::Recover) {
        return depart();
    }
    if (doing_ != Doing::Rate && doing_ != Doing::Guess) {
        show(Page::Playing);
    }
    switch (doing_) {
        case Doing::Read:
        case Doing::Stopped:
            return later(static_cast<int>(kLook.count()), [this] { refresh([this] { go_on(); }); });
        case Doing::Begin:
            return next_seal_.isEmpty() ? prepare() : begin_piece(std::exchange(next_seal_, {}));
        case Doing::Recover:
            return fetch(QString::fromStdString(known()->governor_run), planned().code);
        case Doing::Wait:
            return;
        case Doing::EndPiece:
            return end_piece();
        case Doing::EndDay:
            next_seal_.clear();
            journal_.ended(planned().code, {});
            log("run " + planned().code + " has ended");
            return go_on();
        case Doing::Rate:
            return show(Page::Rate);
        case Doing::Guess:
            return show(Page::Guess);
        case Doing::Finished:
            return finish();
    }
}

// The day may end while a piece is on, and while the server does not answer.
void AtHome::look_at_clock() {
    if (sitting_ && (doing_ == Doing::Wait || doing_ == Doing::Begin) && day_is_over()) {
        go_on();
    }
}

void AtHome::refresh(const Act& then) {
    const auto seat = journal_.seat();
    server_.insist(sitting_of(seat ? seat->token : ""), turns_.still_wanted(),
                   turns_.still([this, then](const Answer& answer) {
                       written([this, answer, then] { refreshed(answer, then); });
                   }),
                   [](const Answer&) {});
}

void AtHome::refreshed(const Answer& answer, const Act& then) {
    if (answer.verdict == Verdict::Refused) {
        if (answer.problem == QStringLiteral("not-enrolled")) {
            return later(static_cast<int>(kLook.count()), [this, then] { refresh(then); });
        }
        log("the server says: " + answer.detail.toStdString());
        if (answer.problem == QStringLiteral("invalid")) {  // the link is nobody's: they have withdrawn in the browser
            withdrawn_ = true;
            return leave();
        }
        emit ended(EX_NOPERM);
        return;
    }
    auto read = read_sitting(answer.body.toStdString());
    if (!read) {
        return retry("the server's answer: " + read.error());
    }
    journal_.told(answer.body.toStdString());
    sitting_ = *std::move(read);
    then();
}

void AtHome::compare_clocks(const Act& then) {
    if (std::exchange(comparing_, true)) {
        return then();
    }
    study::compare_clocks(server_, [this, then](const Letter& letter) {
        comparing_ = false;
        written([this, letter, then] {
            journal_.post(letter);
            postman_.go();
            then();
        });
    });
}

// The server's answer may change what is next.
void AtHome::prepare() {
    postman_.when_done(turns_.still([this] {
        written([this] {
            refresh([this] {
                if (doing_ = look(); doing_ != Doing::Begin) {
                    return go_on();
                }
                if (!known()) {
                    journal_.begin(planned().code, new_id());
                }
                fetch_seal([this](const QByteArray& seal) { begin_piece(seal); });
            });
        });
    }));
}

void AtHome::fetch_seal(const std::function<void(const QByteArray&)>& then) {
    const auto run = known();
    server_.insist(
        start_of(code(), run ? run->start_id : ""), turns_.still_wanted(),
        turns_.still([this, then](const Answer& answer) {
            if (answer.verdict == Verdict::Done) {
                then(seal_in(answer.body));
            } else {
                retry("the server does not begin run " + planned().code + ": " + answer.detail.toStdString());
            }
        }),
        [](const Answer&) {});
}

void AtHome::begin_piece(const QByteArray& seal) {
    const QString study = QString::fromStdString(sitting_->study);
    governor_.start(seal, study, code(), [this, wanted = turns_.still_wanted()](const Said<QString>& governor_run) {
        if (!wanted()) {  // the program goes on with something else
            if (governor_run) {
                governor_.stop(*governor_run, [](const Said<QByteArray>&) {});
            }
            return;
        }
        if (!governor_run) {
            return retry("happed does not begin run " + planned().code + ": " +
                         governor_run.error().message.toStdString());
        }
        written([this, governor_run] {
            piece_ = *governor_run;
            piece_run_ = planned().code;
            const WallTime now = wall_time();
            journal_.piece_begins(planned().code, piece_.toStdString(),
                                  {.began_s = now.unix_s, .date = day_of(now, habits_.day_begins_s), .rating = {}});
            log("run " + planned().code + ": a piece begins");
            wait_ms_ = 0;
            trouble_.clear();
            age_.start();
            limit_.start();
            doing_ = look();
            compare_clocks([] {});
        });
    });
}

// The piece goes on until the server has sent the seal again, unless staff have stopped its run.
void AtHome::renew_piece() {
    if (piece_.isEmpty()) {
        return;
    }
    refresh([this] {
        if (look() != Doing::Wait) {
            return go_on();
        }
        fetch_seal([this](const QByteArray& seal) {
            next_seal_ = seal;
            end_piece();
        });
    });
}

void AtHome::end_piece() {
    if (const QString ended = std::exchange(piece_, {}); !ended.isEmpty()) {
        fetch(ended, piece_run_);
    }
}

void AtHome::fetch(const QString& governor_run, const std::string& run) {
    turns_.next();
    age_.stop();
    limit_.stop();
    fetching_ = true;
    fetch_recording(governor_, governor_run, [this, run](const Said<Recording>& recording) {
        fetching_ = false;
        written([this, &run, &recording] { keep(run, recording); });
    });
}

// A piece is lost if happed does not have it, or for some minutes cannot give it.
void AtHome::keep(const std::string& run, const Said<Recording>& recording) {
    const auto other_name = [this](const std::string& application) { return journal_.other_name(application); };
    const auto piece = recording ? without_names(*recording, other_name) : std::nullopt;
    if (piece) {
        journal_.piece_ended(run, *piece);
        log("run " + run + ": a piece has ended");
    } else if (recording || recording.error().lasting || leaving_ ||
               (governor_.is_there() && wait_ms_ >= kLongestWait.count())) {
        journal_.piece_lost(run, "a piece is lost: happed had ended, or cannot give it");
        log("run " + run +
            ": a piece is lost: " + (recording ? "cannot read it" : recording.error().message.toStdString()));
    } else if (!stopping_) {
        doing_ = Doing::Recover;
        return retry("happed does not give the piece: " + recording.error().message.toStdString());
    }
    go_on();
}

void AtHome::rate(int rating) {
    if (doing_ != Doing::Rate || rating < sitting_->rating.lowest || rating > sitting_->rating.highest) {
        return;
    }
    written([this, rating] {
        const Letter letter = rating_of(planned().code, new_id(), rating);
        if (sitting_->guess) {
            journal_.rated(planned().code, rating, letter);
        } else {
            settle(Step::Answered, rating, {letter});
        }
        log("run " + planned().code + " is rated");
        go_on();
    });
}

void AtHome::guess(const std::string& choice) {
    if (doing_ == Doing::Guess) {
        written([this, choice] {
            settle(Step::Answered, day_ ? day_->rating : std::nullopt, {guess_of(planned().code, new_id(), choice)});
            log("run " + planned().code + " is answered");
            go_on();
        });
    }
}

// Letters, and after them the day's records.
void AtHome::settle(Step step, const std::optional<int>& rating, std::vector<Letter> letters) {
    const std::string& run = planned().code;
    const auto pieces = journal_.pieces(run);
    const std::size_t of = std::min(pieces.size(), kMostPieces);
    Spoken spoken{.rating = rating, .notes = known().value_or(KnownRun()).notes};
    for (std::size_t i = 0; i < of; ++i) {
        const std::string id = new_id();
        spoken.piece = {.number = i + 1, .of = of};
        if (const auto record = compose_record(run, id, pieces[i], spoken)) {
            letters.push_back(record_of(run, id, *record));
        }
        spoken.notes.clear();  // the first record has them
    }
    journal_.settle(run, step, letters);
}

void AtHome::stop() {
    stopping_ = true;
    go_on();
}

void AtHome::leave() {
    if (!std::exchange(leaving_, true)) {
        go_on();
    }
}

// A day that the participant has not rated does not count.
void AtHome::depart() {
    if (day_) {
        if (doing_ == Doing::Guess) {
            settle(Step::Answered, day_->rating, {});
        } else {
            settle(Step::Aborted, {}, {abortion_of(planned().code, "the participant has left the study")});
        }
    }
    stand_up();
    log("the participant has left the study");
    const auto left = [this](const Answer&) { end_without_seat(); };
    postman_.when_done([this, left] { server_.insist(leaving(), [] { return true; }, left, [](const Answer&) {}); });
}

void AtHome::end_without_seat() {
    written([this] {
        if (withdrawn_) {
            journal_.forget_refused();
        }
        emit ended(EX_OK);
    });
}

void AtHome::stand_up() {
    turns_.next();
    forget_page(habits_.state);
    journal_.stand_up();
    sitting_.reset();
    doing_ = Doing::Finished;
    show(Page::Playing);
}

void AtHome::finish() {
    const auto left = turns_.still([this](const Answer&) {
        written([this] {
            stand_up();
            log("the study is over");
            show(Page::Goodbye);
        });
    });
    postman_.when_done(turns_.still([this, left] {
        compare_clocks(turns_.still([this, left] {
            postman_.when_done(turns_.still(
                [this, left] { server_.insist(leaving(), turns_.still_wanted(), left, [](const Answer&) {}); }));
        }));
    }));
}

}  // namespace happe::study
