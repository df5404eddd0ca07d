// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/wizard.h"

#include "ui/study/laptop/application.h"
#include "ui/study/server/server.h"
#include "ui/study/sitting/words.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QStorageInfo>
#include <algorithm>

namespace happe::study {
namespace {

constexpr int kLookMs = 2000;  // between questions to the server for changes
constexpr std::int64_t kGib = std::int64_t{1} << 30U;

// The state's name in the server's list of devices. Null if the wizard sends none, because the server knows it already
// or the laptop must stay silent.
const char* state_of(Page page) {
    switch (page) {
        case Page::Ready:
        case Page::Welcome:
        case Page::Goodbye:
            return "idle";
        case Page::Countdown:
            return "running";
        case Page::Sending:
            return "uploading";
        case Page::Interrupted:
        case Page::Trouble:
            return "fault";
        case Page::Handout:
        case Page::Practice:
        case Page::Waiting:
        case Page::Playing:
        case Page::Rate:
        case Page::Guess:
        case Page::Stopped:
            return nullptr;
    }
    return nullptr;
}

QByteArray json(const QJsonObject& object) {
    return QJsonDocument(object).toJson(QJsonDocument::Compact);
}

}  // namespace

Wizard::Wizard(WizardSettings settings, Journal& journal, Server& server, DaemonProxy& governor)
    : settings_(std::move(settings)),
      journal_(journal),
      server_(server),
      governor_(governor),
      uploader_(journal, server) {
    clock_.setSingleShot(true);
    clock_.setTimerType(Qt::PreciseTimer);
    connect(&clock_, &QTimer::timeout, this, [this] { hold_ ? end_practice() : end_run(); });
    connect(&application_, &Application::ended, this, &Wizard::application_ended);
    connect(&governor_, &DaemonProxy::gone, this, [this] {
        if (!governor_run_.isEmpty()) {
            governor_run_.clear();
            interrupted(StudyWords::tr("The governor happed has ended."), "begun again: happed had ended");
        }
    });
    connect(&governor_, &DaemonProxy::came, this, [this] {
        if (hold_) {
            hold([] {});
        }
    });
    connect(&uploader_, &Uploader::waits, this, [this] {
        if (view_.page == Page::Waiting || view_.page == Page::Sending) {
            show(view_.page, uploader_.obstacle());
        }
    });
}

void Wizard::show(Page page, const QString& detail) {
    const bool other = page != view_.page;
    view_ = {.page = page, .detail = detail};
    if (sitting_ && run_ < sitting_->runs.size()) {
        view_.number = run_ + 1;
        view_.application = QString::fromStdString(planned().name);
        view_.code = code();
        view_.seconds = page == Page::Practice ? planned().practice_seconds : planned().seconds;
    }
    view_.practises = hold_.has_value();
    look_into_journal();
    if (sitting_) {
        view_.total = sitting_->runs.size();
        view_.scale = sitting_->rating;
        view_.guess = sitting_->guess.value_or(Guess());
    }
    emit shows(view_);
    if (other) {
        beat();
    }
}

// Sends heartbeats one after another, because two on the way could overtake each other, and the server would keep the
// older state. Only the newest one waits.
void Wizard::beat() try {
    const char* const state = state_of(view_.page);
    if (state == nullptr) {
        return;
    }
    const QJsonObject said{
        {QStringLiteral("state"), QLatin1String(state)},
        {QStringLiteral("software"), QJsonObject{{QStringLiteral("happe-study"), QStringLiteral(HAPPE_VERSION)}}},
        {QStringLiteral("free_gib"), QStorageInfo(settings_.state).bytesAvailable() / kGib},
        {QStringLiteral("spool"), static_cast<qint64>(journal_.waiting())}};
    next_beat_ = json(said);
    if (!beats_) {
        send_beat();
    }
} catch (const JournalError&) {
    log("the journal cannot be read");
}

void Wizard::send_beat() {
    beats_ = !next_beat_.isEmpty();
    if (beats_) {
        const Request request{
            .method = "PUT", .path = QStringLiteral("device/heartbeat"), .body = std::exchange(next_beat_, {})};
        server_.insist(request, [] { return true; }, [this](const Answer&) { send_beat(); }, [](const Answer&) {});
    }
}

void Wizard::fail(const QString& why, Act again) {
    abandon();
    tasks_.next();
    again_ = std::move(again);
    show(Page::Trouble, why);
}

// The journal decides what the experimenter may do. If it is unreadable, the page shows that trouble.
void Wizard::look_into_journal() try {
    const auto run = sitting_ && run_ < sitting_->runs.size() ? known() : std::nullopt;
    const bool begun = run && run->step != Step::Answered && run->step != Step::Aborted;
    const bool stands_still = view_.page == Page::Ready || view_.page == Page::Trouble;
    view_.may_stop = begun;
    view_.may_leave = journal_.seat() && (!begun || (run->step == Step::Starting && stands_still));
    view_.refused = view_.page == Page::Goodbye && !journal_.refusals().empty();
} catch (const JournalError&) {
    log("the journal cannot be read");
}

void Wizard::written(const Act& act, const Act& again) {
    try {
        act();
    } catch (const JournalError& error) {
        log(error.what());
        fail(disk_trouble(), again);
    }
}

void Wizard::later(int wait_ms, const Act& act) {
    QTimer::singleShot(wait_ms, this, tasks_.if_current([this, act] { written(act); }));
}

void Wizard::try_again() {
    if (view_.page == Page::Trouble) {
        const Act act = std::exchange(again_, {});
        act ? written(act) : go_on();
    }
}

std::optional<KnownRun> Wizard::known() {
    const auto runs = journal_.runs();
    const auto found = std::ranges::find(runs, planned().code, &KnownRun::code);
    return found == runs.end() ? std::nullopt : std::optional(*found);
}

void Wizard::go_on() {
    tasks_.next();
    written([this] {
        const auto seat = journal_.seat();
        if (!seat) {
            sitting_.reset();
            show(Page::Welcome);
            return;
        }
        if (!sitting_) {
            if (auto read = read_sitting(seat->told)) {
                sitting_ = *std::move(read);
            }
        }
        if (sitting_) {
            uploader_.go();
            enter_phase();
        } else {
            show(Page::Waiting);
            refresh([this] { compare_clocks([this] { go_on(); }); });
        }
    });
}

void Wizard::enter_phase() {
    const Next now = next(*sitting_, journal_.runs(), journal_.practised());
    run_ = now.run;
    switch (now.phase) {
        case Phase::Handout:
            show(Page::Handout);
            return later(kLookMs, [this] { refresh([this] { go_on(); }); });
        case Phase::Practice:
            return show(Page::Practice);
        case Phase::Ready:
            return show(Page::Ready);
        case Phase::Interrupted:
            return recover();
        case Phase::Rate:
            return show(Page::Rate);
        case Phase::Guess:
            return show(Page::Guess);
        case Phase::Stopped:
            show(Page::Stopped);
            return wait_for_another_run();
        case Phase::Finished:
            return finish();
    }
}

void Wizard::sit_down(const QString& link) {
    if (view_.page == Page::Welcome && !token_of(link).empty()) {
        written([this, link] {
            journal_.sit(token_of(link));
            go_on();
        });
    }
}

void Wizard::refresh(const Act& then) {
    const auto seat = journal_.seat();
    const Request request = sitting_of(seat ? seat->token : "");
    server_.insist(request, tasks_.is_current(),
                   tasks_.if_current([this, then](const Answer& answer) { refreshed(answer, then); }),
                   tasks_.if_current([this](const Answer& answer) {
                       if (view_.page == Page::Waiting || view_.page == Page::Sending) {
                           show(view_.page, answer.problem.isEmpty() ? no_answer() : answer.detail);
                       }
                   }));
}

void Wizard::refreshed(const Answer& answer, const Act& then) {
    written([this, answer, then] {
        if (answer.verdict == Verdict::Refused) {
            refused_seat(answer, then);
            return;
        }
        auto read = read_sitting(answer.body.toStdString());
        if (!read) {
            log("the server's answer: " + read.error());
            fail(StudyWords::tr("This laptop can't read the answer of the study's server. Its log says why."),
                 [this] { go_on(); });
            return;
        }
        journal_.told(answer.body.toStdString());
        sitting_ = *std::move(read);
        then();
    });
}

void Wizard::refused_seat(const Answer& answer, const Act& then) {
    if (answer.problem == QStringLiteral("not-enrolled")) {
        if (view_.page != Page::Handout) {
            show(Page::Handout);
            open_pages();
        }
        later(kLookMs, [this, then] { refresh(then); });
    } else if (!sitting_) {
        forget_participant();
        show(Page::Welcome, answer.detail);
    } else {
        fail(answer.detail, [this] { go_on(); });
    }
}

void Wizard::open_pages() {
    written([this] {
        const auto seat = journal_.seat();
        if (view_.page != Page::Handout || !seat) {
            return;
        }
        const QUrl address = page_of(settings_.server, seat->token);
        if (const QString trouble = open_in_browser(address, settings_.browser, settings_.state); !trouble.isEmpty()) {
            log(trouble.toStdString());
            show(Page::Handout, StudyWords::tr("The browser can't be opened. This laptop's log says why."));
        }
    });
}

void Wizard::compare_clocks(const Act& then) {
    study::compare_clocks(server_, tasks_.if_current([this, then](const Upload& upload) {
        written([this, upload, then] {
            journal_.post(upload);
            uploader_.go();
            then();
        });
    }));
}

void Wizard::wait_for_another_run() {
    uploader_.when_done(tasks_.if_current([this] {
        refresh([this] {
            take_back_abortion();
            const Next now = next(*sitting_, journal_.runs(), journal_.practised());
            if (now.phase == Phase::Stopped && now.run == run_) {
                later(kLookMs, [this] { wait_for_another_run(); });
            } else {
                go_on();
            }
        });
    }));
}

// The server refused to abort a run because it did not know of its start. The run begins again with the id of that
// start, which may still arrive.
void Wizard::take_back_abortion() {
    const auto run = known();
    const RunState state = planned().state;
    if (run && run->step == Step::Aborted && (state == RunState::Planned || state == RunState::Started)) {
        journal_.begin(run->code, run->start_id);
        journal_.note(run->code, "begun again: it had been stopped before the server knew that it had begun");
    }
}

void Wizard::finish() {
    show(Page::Sending, uploader_.obstacle());
    uploader_.when_done(tasks_.if_current([this] {
        refresh([this] {
            const Next now = next(*sitting_, journal_.runs(), journal_.practised());
            now.phase == Phase::Finished ? leave_seat() : go_on();
        });
    }));
}

void Wizard::leave_seat() {
    compare_clocks([this] {
        uploader_.when_done(tasks_.if_current([this] {
            const auto left = tasks_.if_current([this](const Answer&) {
                written([this] {
                    forget_participant();
                    show(Page::Goodbye);
                });
            });
            server_.insist(leaving(), tasks_.is_current(), left, [](const Answer&) {});
        }));
    });
}

void Wizard::forget_participant() {
    journal_.stand_up();
    forget_page(settings_.state);
    sitting_.reset();
}

// For a participant who has not begun a run the journal has only the link, so there is nothing to wait for.
void Wizard::stand_up() {
    if (!view_.may_leave) {
        return;
    }
    tasks_.next();
    abandon();
    written([this] {
        if (journal_.runs().empty()) {
            forget_participant();
            server_.ask(leaving(), [](const Answer&) {});
            go_on();
        } else {
            show(Page::Sending, uploader_.obstacle());
            uploader_.when_done(tasks_.if_current([this] { leave_seat(); }));
        }
    });
}

}  // namespace happe::study
