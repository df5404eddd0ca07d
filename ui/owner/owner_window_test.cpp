// SPDX-License-Identifier: GPL-2.0-or-later
// The window for people who cannot see it or have no mouse. ui/tests/test_owner_window.py tests its effect on a real
// happed.
#include "ui/owner/owner_window.h"

#include "ui/owner/desktop_entry.h"
#include "ui/owner/key_change.h"
#include "ui/owner/key_dialog.h"
#include "ui/owner/owner_words.h"

#include <gtest/gtest.h>
#include <QAbstractButton>
#include <QAccessible>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QEventLoop>
#include <QFile>
#include <QKeyEvent>
#include <QLabel>
#include <QScrollBar>
#include <QTemporaryDir>
#include <cmath>
#include <set>
#include <utility>

namespace happe::ui {
namespace {

const std::vector<std::uint32_t> kLadder{800'000, 1'200'000, 1'600'000, 2'200'000, 2'300'000};

OwnerState playing() {
    return {.there = true,
            .state = "governing",
            .application = "torcs",
            .performance_key = "KEY_F11",
            .power_key = "KEY_F12",
            .keyboards = 1,
            .ladder_khz = kLadder,
            .work = Work{1'200'000, 970'000, 3}};
}

const OwnProfile kTaught{
    "torcs", {800'000, 800'000, 800'000, 1'200'000, 1'200'000, 1'200'000, 1'200'000, 2'200'000, 2'200'000, 2'300'000}};

const Reasons kReasons{.decided = Khz{1'200'000},
                       .level = Level{3},
                       .taught = {},
                       .limits = {},
                       .descent = {.state = "probing", .restored = Khz{1'600'000}, .seconds = 41},
                       .lowest = false,
                       .saver = {}};

TEST(Doing, SaysWhatAndForWhom) {
    EXPECT_EQ(OwnerWords::doing(playing()), "HAPPE governs for torcs: 1.2 GHz, step 2 of 5.");
    OwnerState state = playing();
    state.application = "happe-tray";
    EXPECT_EQ(OwnerWords::doing(state), "HAPPE governs for this window: 1.2 GHz, step 2 of 5.");
    state = playing();
    state.state = "observing";
    EXPECT_EQ(OwnerWords::doing(state), "HAPPE watches torcs, and would choose 1.2 GHz, step 2 of 5.");
}

TEST(Doing, NamesEachStateInWhichNobodyIsServed) {
    std::set<QString> all{OwnerWords::doing({})};
    for (const char* const name : {"released", "held", "contested", "failing", "run"}) {
        all.insert(OwnerWords::doing({.there = true, .state = name}));
    }
    EXPECT_EQ(all.size(), 6U);
}

TEST(Doing, TellsNothingOfARunsApplicationOrSpeed) {
    OwnerState state = playing();
    state.state = "run";
    EXPECT_FALSE(OwnerWords::doing(state).contains("torcs"));
    EXPECT_EQ(OwnerWords::why(state, kReasons), "");
}

TEST(Why, IsTheDaemonsReasonWhereItHasOne) {
    EXPECT_EQ(OwnerWords::why({.there = true, .state = "held", .reason = "held by make: compiling"}, {}),
              "Why: held by make: compiling");
}

TEST(Why, IsWhatHappectlExplainSays) {
    EXPECT_EQ(OwnerWords::why(playing(), {}), "The CPU is 97 % busy, 30–40 % of its capacity at top speed.");
    EXPECT_EQ(
        OwnerWords::why(playing(), kReasons),
        "The CPU is 97 % busy, 30–40 % of its capacity at top speed. HAPPE gives torcs 1.2 GHz at a load of 30–40 "
        "%, because HAPPE tries less than the 1.6 GHz that it had learned. If you press \"faster\", HAPPE goes "
        "back to at least 1.6 GHz; otherwise it keeps 1.2 GHz in 41 s.");
}

TEST(KeyInWords, IsWhatKeyboardsHaveOnThem) {
    EXPECT_EQ(key_in_words("CTRL+META+KEY_UP"), "Ctrl+Super+Up");
    EXPECT_EQ(key_in_words("KEY_FN_F5"), "Fn+F5");
    EXPECT_EQ(key_in_words("KEY_F13"), "F13");
    EXPECT_EQ(key_in_words("LEFTCTRL+KEY_A"), "left Ctrl+A");
    EXPECT_EQ(key_in_words("KEY_BRIGHTNESSUP"), "Brightness up");
    EXPECT_EQ(OwnerWords::keys(playing()), "Faster: F11\nSave power: F12\nFound on 1 keyboard.");
}

TEST(KeyInWords, OfAKeyWithoutAnotherNameIsItsOwn) {
    EXPECT_EQ(key_in_words("KEY_DISPLAY_OFF"), "Display off");
    EXPECT_EQ(key_in_words("KEY_FN"), "Fn");
    EXPECT_EQ(key_in_words(""), "");
}

TEST(Chart, IsToldInWordsLevelByLevel) {
    const QString words = OwnerWords::chart(kTaught, kLadder);
    EXPECT_TRUE(words.startsWith("0–10 %: 0.8 GHz. 10–20 %: 0.8 GHz."));
    EXPECT_TRUE(words.endsWith("90–100 %: 2.3 GHz. All speeds: 0.8 GHz, 1.2 GHz, 1.6 GHz, 2.2 GHz, 2.3 GHz"));
}

TEST(OwnerStateOf, IsNothingWhereTheAnswerIsOfOtherTypes) {
    const OwnerState state = owner_state_of({{"State", 7}, {"Ladders", "x"}, {"Settings", 1}, {"Keyboards", "many"}});
    EXPECT_TRUE(state.there);
    EXPECT_TRUE(state.ladder_khz.empty());
    EXPECT_EQ(state.work, std::nullopt);
    EXPECT_TRUE(lessons_of(QVariant("x")).empty());
    EXPECT_FALSE(reasons(situation_of({{"Ladders", "x"}, {"Profile", "y"}, {"Descent", 3}}), {}));
    EXPECT_TRUE(profiles_of(QVariant()).empty());
}

TEST(DesktopEntry, NamesAnApplicationInTheUsersLanguage) {
    const QTemporaryDir folder;
    qputenv("XDG_DATA_HOME", folder.path().toUtf8());
    ASSERT_TRUE(QDir(folder.path()).mkdir("applications"));
    QFile file(folder.filePath("applications/torcs.desktop"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("[Desktop Entry]\nName=Racing\nName[de]=Rennen\nIcon=torcs\n[Desktop Action x]\nName=Other\n");
    file.close();
    EXPECT_EQ(desktop_entry("torcs"), (DesktopEntry{.name = "Racing", .icon = "torcs"}));
    EXPECT_EQ(desktop_entry("torcs/mains"), desktop_entry("torcs"));
    EXPECT_EQ(OwnerWords::doing(playing()), "HAPPE governs for Racing: 1.2 GHz, step 2 of 5.");
    QLocale::setDefault(QLocale("de_DE"));
    EXPECT_EQ(desktop_entry("torcs")->name, "Rennen");
    QLocale::setDefault(QLocale::c());
    EXPECT_EQ(desktop_entry("neverball-of-nobody"), std::nullopt);
    EXPECT_EQ(desktop_entry("../torcs"), std::nullopt);
}

// The contrast of two colours by the formula of WCAG 2.
double luminance(const QColor& colour) {
    const auto linear = [](double share) {
        return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& one, const QColor& other) {
    const auto [darker, lighter] = std::minmax({luminance(one), luminance(other)});
    return (lighter + 0.05) / (darker + 0.05);
}

TEST(Chart, MarksStandOutFromDarkAndLightWindows) {
    // Breeze, Adwaita, and Qt's own.
    for (const auto& [window, text] :
         {std::pair("#eff0f1", "#232629"), std::pair("#2a2e32", "#fcfcfc"), std::pair("#fafafa", "#2e3436"),
          std::pair("#242424", "#ffffff"), std::pair("#efefef", "#000000")}) {
        QPalette palette;
        palette.setColor(QPalette::Window, window);
        palette.setColor(QPalette::WindowText, text);
        for (const Key key : {Key::Performance, Key::Power}) {
            const QImage mark = StepChart::mark(key, palette, 2.0).toImage();
            EXPECT_GE(contrast(mark.pixelColor(mark.rect().center()), window), 3.0) << window;
        }
    }
}

std::vector<std::uint32_t> long_ladder(int steps) {
    std::vector<std::uint32_t> ladder;
    for (int step = 0; step < steps; ++step) {
        ladder.push_back(800'000 + 100'000 * static_cast<std::uint32_t>(step));
    }
    return ladder;
}

LearningEvent press(Key key, std::uint8_t level, std::uint32_t khz = 0) {
    LearningEvent event;
    event.lesson.key = key;
    event.lesson.level = Level{level};
    event.lesson.to = Khz{khz};
    return event;
}

QImage seen(QAbstractScrollArea& chart, const QRect& part = {0, 0, -1, -1}) {
    return chart.viewport()->grab(part).toImage();
}

int lines_of_writing(const QImage& column) {
    int lines = 0;
    bool before = false;
    for (int y = 0; y < column.height(); ++y) {
        bool written = false;
        for (int x = 0; x < column.width(); ++x) {
            written = written || qGray(column.pixel(x, y)) < 128;
        }
        lines += written && !before ? 1 : 0;
        before = written;
    }
    return lines;
}

TEST(Chart, HasTheSpeedOfEveryStepBesideIt) {
    StepChart chart;
    chart.setPalette(QPalette(Qt::white));
    chart.show();  // a hidden chart is not laid out
    const int line = chart.fontMetrics().height();
    const int text = chart.fontMetrics().horizontalAdvance(OwnerWords::speed(8'888'888)) + 8;
    for (const auto& [steps, height] : {std::pair(5, 260), {10, 260}, {15, 260}, {33, 600}}) {
        chart.resize(560, height);
        chart.show_profile(kTaught, long_ladder(steps), {}, std::nullopt);
        ASSERT_EQ(chart.verticalScrollBar()->maximum(), 0) << steps;
        const QImage plot =
            seen(chart, {0, line / 2, 560, height - 3 * line - line / 2 - 9});  // from "now" to the axis
        const int left = lines_of_writing(plot.copy(0, 0, text, plot.height()));
        const int right = lines_of_writing(plot.copy(plot.width() - text, 0, text, plot.height()));
        EXPECT_TRUE(left == steps || (left == (steps + 1) / 2 && right == steps / 2))
            << steps << ": " << left << ", " << right;
    }
}

TEST(Chart, ScrollsALongLadderByKeysAndLeavesTheAxis) {
    StepChart chart;
    chart.resize(560, 200);
    chart.show();
    const auto ladder = long_ladder(33);
    const auto axis = [&] { return seen(chart, {0, 200 - 3 * chart.fontMetrics().height() - 8, 560, 200}); };
    chart.show_profile({"slow", std::vector(10, ladder.front())}, ladder, {}, 3);
    const QScrollBar& bar = *chart.verticalScrollBar();
    EXPECT_EQ(bar.value(), bar.maximum());
    chart.show_profile({"fast", std::vector(10, ladder.back())}, ladder, {}, 3);
    EXPECT_EQ(bar.value(), 0);
    const QImage before = axis();
    QKeyEvent down(QEvent::KeyPress, Qt::Key_Down, Qt::NoModifier);
    QCoreApplication::sendEvent(&chart, &down);
    EXPECT_GT(bar.value(), 0);
    EXPECT_EQ(axis(), before);
    const int here = bar.value();
    chart.show_profile({"fast", std::vector(10, ladder.back())}, ladder, {}, 4);
    EXPECT_EQ(bar.value(), here);
}

TEST(Chart, ExplainsItsMarksBeforeThereAreAny) {
    StepChart chart;
    chart.resize(560, 260);
    const int line = chart.fontMetrics().height();
    const auto legend = [&](const std::vector<LearningEvent>& presses) {
        chart.show_profile(kTaught, kLadder, presses, std::nullopt);
        return seen(chart, {0, 260 - line - 8, 560, line + 8});
    };
    const QImage none = legend({});
    EXPECT_GE(lines_of_writing(none), 1);
    EXPECT_EQ(legend({press(Key::Power, 3, 1'200'000)}), none);
    const int beyond = none.width() - chart.minimumWidth();
    ASSERT_GT(beyond, 0);
    EXPECT_EQ(lines_of_writing(none.copy(chart.minimumWidth(), 0, beyond, none.height())), 0);
}

TEST(Chart, SaysWhichLoadIsTheOneOfNow) {
    StepChart chart;
    chart.resize(560, 260);
    const auto above_the_plot = [&](std::optional<int> level) {
        chart.show_profile(kTaught, kLadder, {}, level);
        return chart.grab(QRect(100, 0, 460, chart.fontMetrics().height() - 2)).toImage();
    };
    const QImage nobody = above_the_plot(std::nullopt);
    EXPECT_NE(above_the_plot(3), nobody);
    EXPECT_NE(above_the_plot(3), above_the_plot(9));
}

TEST(Chart, IsTheSameBehindOtherWindows) {
    StepChart chart;
    QPalette palette;
    palette.setColor(QPalette::Inactive, QPalette::WindowText, Qt::red);
    chart.setPalette(palette);
    chart.show_profile(kTaught, kLadder, {}, 3);
    const QImage in_front = chart.grab().toImage();
    chart.setAttribute(Qt::WA_ShowWithoutActivating);
    chart.show();
    ASSERT_FALSE(chart.isActiveWindow());
    EXPECT_EQ(chart.grab().toImage(), in_front);
}

TEST(PressList, IsAsWideAsItsRows) {
    PressList list(nullptr);
    list.show_presses({press(Key::Power, 3), press(Key::Performance, 4)});
    list.resize(list.minimumWidth(), list.minimumHeight());
    list.grab();
    EXPECT_EQ(list.horizontalScrollBar()->maximum(), 0);
}

class Window : public testing::Test {
protected:
    Owner owner_{QDBusConnection("none"), QDBusConnection("none")};
    OwnerWindow window_{owner_};
    KeyDialog dialog_{owner_, &window_};
};

int expect_names(const QWidget& window) {
    int found = 0;
    for (QWidget* const widget : window.findChildren<QWidget*>()) {
        if ((widget->focusPolicy() & Qt::TabFocus) == 0 || widget->focusProxy() != nullptr ||
            !widget->isVisibleTo(&window)) {
            continue;
        }
        const QAccessibleInterface* const it = QAccessible::queryAccessibleInterface(widget);
        EXPECT_TRUE(it != nullptr && !it->text(QAccessible::Name).isEmpty()) << widget->metaObject()->className();
        ++found;
    }
    return found;
}

void expect_letters(const QWidget& window) {
    std::set<QString> letters;
    const auto expect = [&](const QString& text) {
        const QString letter = QKeySequence::mnemonic(text).toString();
        EXPECT_FALSE(letter.isEmpty()) << text.toStdString();
        EXPECT_TRUE(letters.insert(letter).second) << text.toStdString();
    };
    for (const auto* const button : window.findChildren<QAbstractButton*>()) {
        if (button->window() == &window) {  // not of a dialog that belongs to it
            expect(button->text());
        }
    }
    for (const auto* const label : window.findChildren<QLabel*>()) {
        if (label->buddy() != nullptr) {
            expect(label->text());
        }
    }
}

TEST_F(Window, HasANameForEachThingThatTakesTheKeyboard) {
    EXPECT_GE(expect_names(window_), 6);
    EXPECT_GE(expect_names(dialog_), 4);
}

TEST_F(Window, HasALetterForEachButtonAndNoneTwice) {
    expect_letters(window_);
    expect_letters(dialog_);
}

TEST_F(Window, PassesTheKeyboardFromCardToCard) {
    QStringList order;
    for (const QWidget* at = window_.focusWidget(); !order.contains("&Undo"); at = at->nextInFocusChain()) {
        if (const auto* const button = qobject_cast<const QAbstractButton*>(at)) {
            order << button->text();
        }
    }
    EXPECT_EQ(
        order.join("; "),
        "&Pause HAPPE; Change &keys…; &Start the indicator with the session; Enable HAPPE in &GNOME; F&orget this application…; &Undo");
}

// 200 % of 1920 by 1080 pixels, less a panel and the window's title.
TEST_F(Window, FitsIntoALaptopsScreenAtTwiceTheSize) {
    window_.grab();
    EXPECT_LE(window_.minimumSizeHint().height(), 1080 / 2 - 80);
    EXPECT_LE(window_.minimumSizeHint().width(), 1920 / 2);
    EXPECT_LE(dialog_.minimumSizeHint().width(), 1920 / 2);
}

// The message of ConfigurationChange after a program in place of pkexec has ended.
QString said_with(const char* program) {
    const QTemporaryDir folder;
    if (program != nullptr) {
        QFile file(folder.filePath("pkexec"));
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(program);
        file.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
    }
    const QByteArray path = qgetenv("PATH");
    qputenv("PATH", folder.path().toUtf8());
    ConfigurationChange change;
    QEventLoop loop;
    QString said;
    const auto end = [&](const QString& words) {
        said = words;
        loop.quit();
    };
    QObject::connect(&change, &ConfigurationChange::applied, &loop, [&] { end("applied"); });
    QObject::connect(&change, &ConfigurationChange::not_applied, &loop, end);
    change.apply({"keys", "set", "--power", "CTRL+KEY_UP"});
    loop.exec();
    EXPECT_FALSE(change.applies());
    qputenv("PATH", path);
    return said;
}

TEST(ConfigurationChange, NamesTheCommandWithoutPkexecOrAPassword) {
    const QString terminal = "In a terminal:\nsudo happectl keys set --power CTRL+KEY_UP";
    EXPECT_EQ(said_with(nullptr), "The program pkexec, which asks for a password, is not there. " + terminal);
    for (const char* const refusal : {"#!/bin/sh\nexit 126\n", "#!/bin/sh\necho no agent >&2\nexit 127\n"}) {
        EXPECT_EQ(said_with(refusal), "This needs an administrator's password, which nobody gave. " + terminal);
    }
}

TEST(ConfigurationChange, PassesOnWhatHappectlSays) {
    EXPECT_EQ(said_with("#!/bin/sh\necho 'happectl: full' >&2\nexit 74\n"), "HAPPE says: happectl: full");
    EXPECT_EQ(said_with("#!/bin/sh\necho 'happectl: no happed' >&2\n"), "HAPPE says: happectl: no happed");
    EXPECT_EQ(said_with("#!/bin/sh\n[ \"$*\" = \"--disable-internal-agent " HAPPE_HAPPECTL
                        " keys set --power CTRL+KEY_UP\" ]\n"),
              "applied");
}

TEST_F(Window, SaysThatHappedDoesNotRun) {
    EXPECT_EQ(OwnerWords::doing(owner_.state()), "HAPPE is not running. The kernel's governor decides.");
}

}  // namespace
}  // namespace happe::ui

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const QTemporaryDir settings;
    qputenv("XDG_CONFIG_HOME", settings.path().toLocal8Bit());
    testing::InitGoogleTest(&argc, argv);
    QLocale::setDefault(QLocale::c());
    const QApplication application(argc, argv);
    return RUN_ALL_TESTS();
}
