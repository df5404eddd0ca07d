// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/study/pages.h"

#include "ui/study/choice_widget.h"
#include "ui/study/page_builder.h"
#include "ui/study/sitting/words.h"

#include <sysexits.h>
#include <QCoreApplication>
#include <QLineEdit>
#include <array>

namespace happe::study {
namespace {

constexpr int kMinute = 60;
constexpr int kLongestLine = 500;
constexpr int kLongestLink = 1000;

QString length_of(int seconds) {
    const bool minutes = seconds % kMinute == 0;
    return minutes ? StudyWords::tr("%n minute(s)", nullptr, seconds / kMinute)
                   : StudyWords::tr("%n second(s)", nullptr, seconds);
}

// Adds a line to type into, and a button that stays disabled while the line is empty.
void add_line(PageBuilder& page, const QString& name, int longest, const QString& button,
              const std::function<void(const QString&)>& act) {
    auto& line = *made_in<QLineEdit>(page.content());
    line.setAccessibleName(name);
    line.setPlaceholderText(name);
    line.setMaxLength(longest);
    page.add(line);
    QPushButton& go = page.main_button(button, [&line, act] { act(line.text()); });
    go.setEnabled(false);
    QObject::connect(&line, &QLineEdit::textChanged, &go,
                     [&go](const QString& text) { go.setEnabled(!text.trimmed().isEmpty()); });
    QObject::connect(&line, &QLineEdit::returnPressed, &go, &QPushButton::click);
    page.begin_with(line);
}

// Adds answers, and a button that stays disabled until the participant has chosen one.
ChoiceWidget& add_choice(PageBuilder& page, ChoiceWidget::Shape shape, const QStringList& answers, int first) {
    auto& choice = *made_in<ChoiceWidget>(page.content(), shape, answers, first);
    page.add(choice);
    return choice;
}

void add_send(PageBuilder& page, ChoiceWidget& choice, const QString& text, const std::function<void(int)>& act) {
    QPushButton& send = page.main_button(text, [&choice, act] { act(choice.chosen()); });
    send.setEnabled(false);
    QObject::connect(&choice, &ChoiceWidget::changed, &send, [&] { send.setEnabled(choice.chosen() >= 0); });
    QObject::connect(&choice, &ChoiceWidget::confirmed, &send, &QPushButton::click);
    page.begin_with(choice);
}

void welcome(PageBuilder& page, const View& view, Wizard& wizard) {
    page.title(StudyWords::tr("Who is taking part?"));
    page.text(StudyWords::tr(
        "Paste or type the participant's link. Consent, questions and instructions open in the browser. Then the "
        "participant continues here."));
    page.note(view.detail);
    add_line(page, StudyWords::tr("The participant's link"), kLongestLink, StudyWords::tr("Begin"),
             [&wizard](const QString& link) { wizard.sit_down(link); });
}

void handout(PageBuilder& page, const View& view, Wizard& wizard) {
    page.title(StudyWords::tr("Please continue in the browser"));
    page.text(StudyWords::tr(
        "There you read about the study, answer some questions, and read the instructions. After that, this window "
        "continues by itself."));
    page.note(view.detail);
    page.main_button(StudyWords::tr("Open the pages again"), [&wizard] { wizard.open_pages(); });
}

void practice(PageBuilder& page, const View& view, Wizard& wizard) {
    page.title(StudyWords::tr("Practice: %1").arg(view.application));
    page.text(
        StudyWords::tr("Try it until you feel comfortable, for up to %1. It ends by itself, or when you leave it.")
            .arg(length_of(view.seconds)));
    page.main_button(StudyWords::tr("Start the practice"), [&wizard] { wizard.begin(); });
    page.other_button(StudyWords::tr("I already know it"), [&wizard] { wizard.skip_practice(); });
}

void ready(PageBuilder& page, const View& view, Wizard& wizard) {
    page.where(view);
    page.title(StudyWords::tr("Next: %1").arg(view.application));
    page.text(StudyWords::tr(
                  "It lasts %1 and ends by itself, even in the middle of something. Then you rate it. Rest as long as "
                  "you like before you start.")
                  .arg(length_of(view.seconds)));
    page.main_button(StudyWords::tr("Start"), [&wizard] { wizard.begin(); });
    page.progress(view.number - 1, view.total);
}

void waiting(PageBuilder& page, const View& view, Wizard& /*wizard*/) {
    page.where(view);
    page.title(StudyWords::tr("One moment, please"));
    page.text(StudyWords::tr(
        "The laptop is asking the study's server. It tries until the server answers. Your answers so far are saved "
        "here."));
    page.note(view.detail);
}

void countdown(PageBuilder& page, const View& view, Wizard& /*wizard*/) {
    page.where(view);
    page.title(view.application);
    auto& number = *made_in<QLabel>(page.content(), QString::number(view.seconds));
    number.setObjectName(QStringLiteral("countdown"));
    number.setAccessibleName(StudyWords::tr("It starts in %n second(s)", nullptr, view.seconds));
    page.add(number);
}

void interrupted(PageBuilder& page, const View& view, Wizard& wizard) {
    page.where(view);
    page.title(StudyWords::tr("This run was interrupted"));
    page.text(
        StudyWords::tr("This is not your fault. The interrupted part does not count, and the run starts again from the "
                       "beginning."));
    page.note(view.detail);
    page.main_button(StudyWords::tr("Begin this run again"), [&wizard] { wizard.begin(); });
    page.progress(view.number - 1, view.total);
}

void rate(PageBuilder& page, const View& view, Wizard& wizard) {
    page.where(view);
    const Scale& scale = view.scale;
    page.title(QString::fromStdString(scale.question));
    QStringList points;
    for (int point = scale.lowest; point <= scale.highest; ++point) {
        points.push_back(QString::number(point));
    }
    ChoiceWidget& choice = add_choice(page, ChoiceWidget::Shape::Row, points, scale.lowest);
    const QString lowest = QString::fromStdString(scale.lowest_label);
    const QString highest = QString::fromStdString(scale.highest_label);
    choice.describe(0, points.first() + QStringLiteral(", ") + lowest);
    choice.describe(scale.highest - scale.lowest, points.last() + QStringLiteral(", ") + highest);
    page.ends(points.first() + QStringLiteral(" \u2013 ") + lowest,
              points.last() + QStringLiteral(" \u2013 ") + highest);
    add_send(page, choice, StudyWords::tr("Send my rating"),
             [&wizard, first = scale.lowest](int chosen) { wizard.rate(first + chosen); });
    page.text(StudyWords::tr("With the keyboard: the number, then Enter."));
}

void guess(PageBuilder& page, const View& view, Wizard& wizard) {
    page.where(view);
    page.title(QString::fromStdString(view.guess.question));
    page.text(StudyWords::tr("You are not expected to know. Choose what you think, or say that you don't know."));
    QStringList answers;
    int number = 0;
    for (const Choice& choice : view.guess.choices) {
        answers.push_back(QString::number(++number) + QStringLiteral("   ") + QString::fromStdString(choice.text));
    }
    ChoiceWidget& choice = add_choice(page, ChoiceWidget::Shape::Column, answers, 1);
    const auto send = [&wizard, choices = view.guess.choices](int chosen) {
        wizard.guess(choices.at(static_cast<std::size_t>(chosen)).key);
    };
    add_send(page, choice, StudyWords::tr("Send my guess"), send);
}

void stopped(PageBuilder& page, const View& view, Wizard& /*wizard*/) {
    page.where(view);
    page.title(StudyWords::tr("This run was stopped"));
    page.text(StudyWords::tr(
        "It does not count. This is not your fault. The person with you will prepare it again. Then you continue "
        "here."));
    page.note(view.detail);
}

void sending(PageBuilder& page, const View& view, Wizard& /*wizard*/) {
    page.title(StudyWords::tr("Thank you! That was the last run."));
    page.text(StudyWords::tr(
        "The laptop is sending its data to the study's server. Please leave it on until it says goodbye."));
    page.note(view.detail);
}

void goodbye(PageBuilder& page, const View& view, Wizard& wizard) {
    page.title(StudyWords::tr("Thank you, and goodbye"));
    if (view.refused) {
        page.text(StudyWords::tr("You can continue in the browser, or leave."));
        page.note(StudyWords::tr(
            "The study's server refused some of the data, which stay on this laptop. Please tell the person with you."));
    } else {
        page.text(StudyWords::tr("All data have arrived. You can continue in the browser, or leave."));
    }
    page.main_button(StudyWords::tr("Next participant"), [&wizard] { wizard.go_on(); });
    page.other_button(StudyWords::tr("Leave the program"), leave);
}

void trouble(PageBuilder& page, const View& view, Wizard& wizard) {
    page.where(view);
    page.title(StudyWords::tr("Please call the person with you"));
    page.text(StudyWords::tr("There is a problem that the person with you must solve. All your answers are safe."));
    page.note(view.detail);
    page.main_button(StudyWords::tr("Try again"), [&wizard] { wizard.try_again(); });
}

using Maker = void (*)(PageBuilder&, const View&, Wizard&);

struct Entry {
    PageKind kind;
    Maker make;
};

// In the order of the enumeration.
constexpr std::array<Entry, 14> kEntries{{
    {{"welcome", Place::Desktop}, welcome},
    {{"handout", Place::Desktop}, handout},
    {{"practice", Place::Screen}, practice},
    {{"ready", Place::Screen}, ready},
    {{"waiting", Place::Screen}, waiting},
    {{"countdown", Place::Screen}, countdown},
    {{"playing", Place::Nowhere}, waiting},
    {{"interrupted", Place::Screen, true}, interrupted},
    {{"rate", Place::Screen, true}, rate},
    {{"guess", Place::Screen}, guess},
    {{"stopped", Place::Screen, true}, stopped},
    {{"sending", Place::Screen}, sending},
    {{"goodbye", Place::Screen}, goodbye},
    {{"trouble", Place::Screen, true}, trouble},
}};
static_assert(kEntries.size() == static_cast<std::size_t>(Page::Trouble) + 1);

const Entry& entry_of(Page page) {
    return kEntries.at(static_cast<std::size_t>(page));
}

}  // namespace

void leave() {
    QCoreApplication::exit(EX_OK);  // quit() would ask the window, which refuses
}

const PageKind& kind_of(Page page) {
    return entry_of(page).kind;
}

std::unique_ptr<QWidget> make_page(const View& view, Wizard& wizard) {
    PageBuilder page;
    entry_of(view.page).make(page, view, wizard);
    return page.finished();
}

std::unique_ptr<QWidget> make_experimenters_page(const View& view, Wizard& wizard, const std::function<void()>& back) {
    PageBuilder page;
    page.where(view);
    page.title(StudyWords::tr("For the experimenter"));
    if (view.may_stop) {
        page.text(
            StudyWords::tr("You can stop run %1. It will not count. Plan it again on the server.").arg(view.code));
        add_line(page, StudyWords::tr("The reason, for the audit log"), kLongestLine, StudyWords::tr("Stop this run"),
                 [&wizard, back](const QString& reason) {
                     back();
                     wizard.stop_run(reason);
                 });
    } else if (view.may_leave) {
        page.text(StudyWords::tr("No run is in progress. If the participant leaves, the laptop sends its data first."));
    }
    if (view.practises) {
        page.main_button(StudyWords::tr("End this practice"), [&wizard, back] {
            back();
            wizard.stop_practice();
        });
    }
    if (view.may_leave) {
        page.other_button(StudyWords::tr("The participant leaves"), [&wizard, back] {
            back();
            wizard.stand_up();
        });
    }
    page.other_button(StudyWords::tr("Leave the program"), leave);
    page.other_button(StudyWords::tr("Back"), back);
    return page.finished();
}

QString style_sheet() {
    return QStringLiteral(R"(
        * { font-family: "DejaVu Sans", sans-serif; font-size: 18px; color: #1d2329; }
        QWidget#window { background: #fbfaf8; }
        QLabel#where { color: #59636e; font-size: 17px; }
        QLabel#title { font-size: 30px; font-weight: bold; }
        QLabel#quiet { color: #59636e; font-size: 15px; }
        QLabel#countdown { font-size: 140px; font-weight: bold; color: #0b6255; }
        QLabel#note { background: #fdf1df; border-left: 4px solid #8a4b00; padding: 12px 16px; }
        QLineEdit { background: #ffffff; border: 2px solid #767f89; border-radius: 8px; padding: 10px 12px; }
        QLineEdit:focus { border-color: #1557c0; }
        QPushButton { margin: 2px; border: 2px solid #767f89; border-radius: 8px; padding: 12px 24px; background: #ffffff; }
        QPushButton#main { background: #0b6255; border: 4px solid #fbfaf8; border-radius: 10px; color: #ffffff;
                           font-weight: bold; margin: 0; padding: 10px 24px; }
        QPushButton#main:hover { background: #084c42; }
        QPushButton#main:disabled { background: #e8eaec; color: #59636e; }
        QPushButton:focus { margin: 0; border: 4px solid #1557c0; outline: none; }
        QPushButton#main:focus { border-color: #1557c0; }
        QRadioButton { background: #ffffff; border: 2px solid #767f89; border-radius: 8px; padding: 14px 18px; }
        QRadioButton#tile { font-size: 34px; font-weight: bold; padding: 22px 0; }
        QRadioButton#tile::indicator { width: 0; height: 0; }
        QRadioButton#tile { spacing: 0; }
        QRadioButton:checked { background: #e2f1ee; border-color: #0b6255; }
        QRadioButton:focus { border: 4px solid #1557c0; padding: 12px 16px; outline: none; }
        QRadioButton#tile:focus { padding: 20px 0; }
        QProgressBar { border: 0; border-radius: 4px; background: #d5d9de; max-height: 8px; min-height: 8px; }
        QProgressBar::chunk { border-radius: 4px; background: #0b6255; }
    )");
}

}  // namespace happe::study
