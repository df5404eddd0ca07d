// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/device_key.h"
#include "governor/system/temporary_directory_fixture.h"

#include <gtest/gtest.h>
#include <sodium.h>
#include <sys/stat.h>
#include <fstream>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

namespace happe {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text, fs::perms perms = fs::perms::owner_read) {
    std::ofstream(path, std::ios::binary) << text;
    fs::permissions(path, perms);
}

// Seals a document as a study server does.
std::string sealed_to(const PublicKey& key, const std::string& document) {
    std::string seal(document.size() + crypto_box_SEALBYTES, '\0');
    crypto_box_seal(reinterpret_cast<unsigned char*>(seal.data()),
                    reinterpret_cast<const unsigned char*>(document.data()), document.size(), key.data());
    return seal;
}

struct DeviceKeyTest : testing::Test {
    TemporaryDirectory directory;
    fs::path file = directory.path() / "state/device.key";
    DeviceKey key{file};
};

TEST_F(DeviceKeyTest, IsMadeOnceAndIsItsOwnersAlone) {
    const auto first = key.public_key();
    ASSERT_TRUE(first) << first.error().message;

    EXPECT_EQ(*key.public_key(), *first);
    EXPECT_EQ(*DeviceKey(file).public_key(), *first);
    struct stat about{};
    ASSERT_EQ(::stat(file.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0600U);
    EXPECT_EQ(about.st_size, 32);
    EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), {}), 1);
}

TEST_F(DeviceKeyTest, OpensWhatWasSealedToIt) {
    const std::string document(512, 'x');
    const std::string seal = sealed_to(*key.public_key(), document);
    EXPECT_EQ(*key.open(seal), document);
    EXPECT_EQ(*key.open(sealed_to(*key.public_key(), "")), "");
}

TEST_F(DeviceKeyTest, SaysOneThingOfWhateverDoesNotOpen) {
    const PublicKey own = *key.public_key();
    const std::string seal = sealed_to(own, std::string(512, 'x'));
    std::vector<std::string> bad{sealed_to(*DeviceKey(directory.path() / "other").public_key(), "x"), seal + '\0'};
    for (std::size_t i = 0; i < seal.size(); ++i) {
        bad.push_back(seal.substr(0, i));
        bad.push_back(seal);
        bad.back()[i] = static_cast<char>(bad.back()[i] ^ 1);
    }
    for (const std::string& each : bad) {
        const auto opened = key.open(each);
        ASSERT_FALSE(opened) << each.size();
        EXPECT_EQ(opened.error().message, "does not open with this laptop's key");
    }
}

TEST_F(DeviceKeyTest, IsNotMadeToOpenWhatCannotHaveBeenSealedToIt) {
    EXPECT_FALSE(key.open(std::string(560, 'x')));
    EXPECT_FALSE(fs::exists(file));
}

TEST_F(DeviceKeyTest, WhatIsNoKeyOrIsOthersTooStaysAsItIs) {
    fs::create_directory(file.parent_path());
    const auto all_may_read = fs::perms::owner_read | fs::perms::others_read;
    for (const auto& [text, perms] : {std::pair{std::string(), fs::perms::owner_read},
                                      {std::string(31, 'k'), fs::perms::owner_read},
                                      {std::string(33, 'k'), fs::perms::owner_read},
                                      {std::string(32, 'k'), all_may_read}}) {
        write(file, text, perms);
        const auto made = key.public_key();
        ASSERT_FALSE(made) << text.size();
        EXPECT_TRUE(made.error().message.starts_with(file.string())) << made.error().message;
        EXPECT_EQ(made.error().message, key.open(std::string(560, 'x')).error().message);
        EXPECT_EQ(content(file), text);
        fs::remove(file);
    }
}

TEST_F(DeviceKeyTest, IsNotWaitedForWhereAFifoIs) {
    fs::create_directory(file.parent_path());
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_FALSE(key.public_key());
}

TEST_F(DeviceKeyTest, IsNotReadThroughALink) {
    fs::create_directory(file.parent_path());
    write(directory.path() / "theirs", std::string(32, 'k'));
    fs::create_symlink(directory.path() / "theirs", file);
    EXPECT_FALSE(key.public_key());
}

TEST_F(DeviceKeyTest, WhatAnInterruptionLeftIsReplaced) {
    fs::create_directory(file.parent_path());
    write(file.string() + ".part", "half a k");
    const auto made = key.public_key();
    ASSERT_TRUE(made);
    EXPECT_EQ(content(file).size(), 32U);
    EXPECT_FALSE(fs::exists(file.string() + ".part"));
}

TEST_F(DeviceKeyTest, WithoutAPlaceThereIsAnErrorThatNamesIt) {
    write(file.parent_path(), "a file");
    EXPECT_NE(key.public_key().error().message.find(file.string()), std::string::npos);
}

// As base64(1) and sha256sum(1) print the bytes 0 to 31.
TEST(KeyTexts, AreThoseOfOtherPrograms) {
    PublicKey key{};
    std::iota(key.begin(), key.end(), static_cast<unsigned char>(0));
    EXPECT_EQ(base64_of(key), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    EXPECT_EQ(fingerprint_of(key), "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd");
}

TEST(Base64, IsReadWithBlanksAroundAndNothingElse) {
    EXPECT_EQ(bytes_of_base64("AAEC\n"), std::string("\0\1\2", 3));
    EXPECT_EQ(bytes_of_base64(" AA==\r\n"), std::string("\0", 1));
    EXPECT_EQ(bytes_of_base64(""), std::string());
    for (const char* text : {"A", "AAE", "AA=", "AAEC!", "AA-_", "{\"sealed\":\"AAEC\"}"}) {
        EXPECT_FALSE(bytes_of_base64(text)) << text;
    }
}

}  // namespace
}  // namespace happe
