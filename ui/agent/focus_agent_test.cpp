// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/agent/focus_agent.h"

#include <gtest/gtest.h>
#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QEventLoop>

namespace happe::ui {
namespace {

using namespace std::chrono_literals;

// A source that answers when the test wants it.
struct Says {
    FocusSource::Events events;
    int opened = 0;
    int asked = 0;
    bool missing = false;
    bool better = false;
    FocusBy better_than = FocusBy::Auto;
};

class FakeSource final : public FocusSource {
public:
    explicit FakeSource(Says& says) : says_(says) {}
    [[nodiscard]] FocusBy by() const override { return FocusBy::X11; }
    [[nodiscard]] QString name() const override { return QStringLiteral("fake"); }
    void ask() override { ++says_.asked; }

private:
    Says& says_;
};

class Agent : public testing::Test {
protected:
    [[nodiscard]] static bool until(const std::function<bool()>& happens) {
        const QDeadlineTimer end(20s);
        while (!happens() && !end.hasExpired()) {
            QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 100);
        }
        return happens();
    }
    // Waits long enough for a question that was due.
    static void settle() {
        const QDeadlineTimer end(250ms);
        while (!end.hasExpired()) {
            QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
        }
    }
    void starts() {
        agent_.start();
        ASSERT_TRUE(until([this] { return says_.asked == 1; }));
    }

    int argc_ = 0;
    QCoreApplication application_{argc_, nullptr};
    Says says_;
    FocusAgent agent_{QDBusConnection(QStringLiteral("none")),
                      [this](FocusBy better_than, const FocusSource::Events& events) -> SourceOrError {
                          says_.better_than = better_than;
                          if (better_than != FocusBy::Auto && !says_.better) {
                              return tl::unexpected<std::string>("none is better");
                          }
                          says_.events = events;
                          ++says_.opened;
                          if (says_.missing) {
                              return tl::unexpected<std::string>("no source exists");
                          }
                          return std::make_unique<FakeSource>(says_);
                      }};
};

TEST_F(Agent, AsksOnceForAsManyChangesAsComeTogether) {
    starts();
    says_.events.answered(std::nullopt);
    for (int change = 0; change < 1000; ++change) {
        says_.events.changed();
    }
    ASSERT_TRUE(until([this] { return says_.asked == 2; }));
    says_.events.answered(std::nullopt);
    settle();
    EXPECT_EQ(says_.asked, 2);
}

TEST_F(Agent, AsksAgainForWhatChangesAfterTheQuestion) {
    starts();
    says_.events.changed();  // the first answer may be from before this change
    settle();
    EXPECT_EQ(says_.asked, 1);
    says_.events.answered(std::nullopt);
    EXPECT_TRUE(until([this] { return says_.asked == 2; }));
}

TEST_F(Agent, LooksForAnotherSourceUntilThereIsOne) {
    starts();
    QStringList said;
    QObject::connect(&agent_, &FocusAgent::said, [&](const QString& what) { said << what; });
    says_.missing = true;
    says_.events.lost("it is gone");
    ASSERT_TRUE(until([this] { return says_.opened == 2; }));
    says_.missing = false;
    EXPECT_TRUE(until([this] { return says_.asked == 2; }));  // although the first question has no answer
    EXPECT_EQ(said, (QStringList{"it is gone", "no source exists", "fake"}));
}

TEST_F(Agent, SaysOnceThatThereIsNoSource) {
    QStringList said;
    QObject::connect(&agent_, &FocusAgent::said, [&](const QString& what) { said << what; });
    says_.missing = true;
    agent_.start();
    EXPECT_EQ(said, QStringList{"no source exists"});
    ASSERT_TRUE(until([this] { return says_.opened == 2; }));
    EXPECT_EQ(said, QStringList{"no source exists"});
}

TEST_F(Agent, TakesABetterSourceWhenOneComesAndHearsNothingOfTheOneBefore) {
    starts();
    const FocusSource::Events before = says_.events;
    agent_.look();
    ASSERT_TRUE(until([this] { return says_.better_than == FocusBy::X11; }));
    EXPECT_EQ(says_.opened, 1);
    says_.better = true;
    agent_.look();
    ASSERT_TRUE(until([this] { return says_.opened == 2; }));
    before.lost("the one before is gone");
    ASSERT_TRUE(until([this] { return says_.asked == 2; }));
    settle();
    EXPECT_EQ(says_.opened, 2);
}

}  // namespace
}  // namespace happe::ui
