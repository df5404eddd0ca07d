// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/keys/input_directory.h"

#include "governor/keys/key_fixture.h"

#include <fstream>

namespace happe {
namespace {

class WatchedInput : public LoopFixture {
protected:
    void watch() {
        auto watched =
            InputDirectory::watch(loop, input,
                                  {.appeared = [this](const std::string& node) { nodes.push_back(node); },
                                   .look_again = [this] { ++looks; },
                                   .failed = [this](const Error& error) { errors.push_back(error.message); }});
        ASSERT_TRUE(watched) << watched.error().message;
        directory = std::move(*watched);
    }
    void appears(const std::string& node) const { std::ofstream(input / node) << ""; }

    std::filesystem::path input = folder / "input";
    std::vector<std::string> nodes;
    int looks = 0;
    std::vector<std::string> errors;
    std::unique_ptr<InputDirectory> directory;
};

TEST_F(WatchedInput, TellsOfEventNodesThatAppearAndOfNothingElse) {
    std::filesystem::create_directory(input);
    appears("event0");
    watch();

    appears("event1");
    appears("mouse0");
    appears("event2.tmp");
    std::filesystem::create_directory(input / "by-id");
    std::filesystem::remove(input / "event0");
    appears("event0");

    EXPECT_TRUE(runs_until([&] { return nodes.size() == 2; }));
    EXPECT_EQ(nodes, (std::vector<std::string>{"event1", "event0"}));
    EXPECT_EQ(looks, 0);
}

TEST_F(WatchedInput, ADirectoryThatComesLaterIsLookedAtAndWatched) {
    watch();
    runs();
    EXPECT_EQ(looks, 0);

    std::filesystem::create_directory(folder / "other");
    std::filesystem::create_directory(input);
    appears("event0");  // before the loop sees the directory, so the object must look for it

    EXPECT_TRUE(runs_until([&] { return looks == 1; }));
    appears("event1");
    EXPECT_TRUE(runs_until([&] { return nodes == std::vector<std::string>{"event1"}; }));
}

TEST_F(WatchedInput, ADirectoryMayGoAndComeBack) {
    std::filesystem::create_directory(input);
    watch();
    for (int round = 1; round <= 3; ++round) {
        std::filesystem::remove_all(input);
        runs();
        std::filesystem::create_directory(input);
        EXPECT_TRUE(runs_until([&] { return looks == round; })) << round;
        nodes.clear();

        appears("event5");

        EXPECT_TRUE(runs_until([&] { return nodes.size() == 1; })) << round;
    }
    EXPECT_TRUE(errors.empty());
}

TEST_F(WatchedInput, AParentThatIsMissingTooIsAnError) {
    const auto watched = InputDirectory::watch(loop, folder / "no" / "input", {});

    ASSERT_FALSE(watched);
    EXPECT_EQ(watched.error().message, (folder / "no").string() + ": No such file or directory");
}

TEST_F(WatchedInput, AFileInItsPlaceIsAnError) {
    std::ofstream(input) << "";

    const auto watched = InputDirectory::watch(loop, input, {});

    ASSERT_FALSE(watched);
    EXPECT_EQ(watched.error().message, input.string() + ": Not a directory");
}

}  // namespace
}  // namespace happe
