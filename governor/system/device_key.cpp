// SPDX-License-Identifier: GPL-2.0-or-later
#include "governor/system/device_key.h"

#include "governor/system/file_descriptor.h"
#include "governor/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

namespace happe {
namespace {

namespace fs = std::filesystem;

static_assert(std::tuple_size_v<PublicKey> == crypto_box_PUBLICKEYBYTES);

// Its destructor erases the key from memory.
struct SecretKey {
    std::array<unsigned char, crypto_box_SECRETKEYBYTES> bytes{};

    SecretKey() = default;
    SecretKey(const SecretKey&) = delete;
    SecretKey& operator=(const SecretKey&) = delete;
    ~SecretKey() { sodium_memzero(bytes.data(), bytes.size()); }
};

// libsodium's bytes are unsigned, those of files are not.
const unsigned char* bytes_of(std::string_view text) {
    const void* const bytes = text.data();
    return static_cast<const unsigned char*>(bytes);
}

unsigned char* bytes_of(std::string& text) {
    void* const bytes = text.data();
    return static_cast<unsigned char*>(bytes);
}

std::string_view text_of(const SecretKey& secret) {
    const void* const bytes = secret.bytes.data();
    return {static_cast<const char*>(bytes), secret.bytes.size()};
}

Status ready() {
    return sodium_init() < 0 ? failure("libsodium cannot be used here") : Status();
}

bool is_private(int file) {
    struct stat about{};
    return ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid() &&
           (about.st_mode & (S_IRWXG | S_IRWXO)) == 0 && about.st_size == crypto_box_SECRETKEYBYTES;
}

// False if there is no such file.
Result<bool> read(const fs::path& path, SecretKey& secret) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    if (!file && errno == ENOENT) {
        return false;
    }
    if (!file) {
        return failure(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
    }
    if (!is_private(file.get()) ||
        ::read(file.get(), secret.bytes.data(), secret.bytes.size()) != crypto_box_SECRETKEYBYTES) {
        return failure(fmt::format(
            "{}: not a key: it must have {} bytes, and only its owner may read it. To replace it, delete it and enrol this "
            "laptop again",
            path.string(), crypto_box_SECRETKEYBYTES));
    }
    return true;
}

Status make(const fs::path& path, SecretKey& secret) {
    PublicKey unused{};
    crypto_box_keypair(unused.data(), secret.bytes.data());
    std::error_code trouble;  // write_file() says what is wrong
    fs::create_directories(path.parent_path(), trouble);
    return write_file(path, text_of(secret), 0600);
}

}  // namespace

std::string base64_of(const PublicKey& key) {
    constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
    std::string text(sodium_base64_ENCODED_LEN(std::tuple_size_v<PublicKey>, kVariant), '\0');
    sodium_bin2base64(text.data(), text.size(), key.data(), key.size(), kVariant);
    text.pop_back();  // the terminating zero
    return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
    std::string bytes(text.size(), '\0');
    std::size_t size = 0;
    const int status = sodium_base642bin(bytes_of(bytes), bytes.size(), text.data(), text.size(), " \r\n", &size,
                                         nullptr, sodium_base64_VARIANT_ORIGINAL);
    bytes.resize(size);
    return status == 0 ? std::optional(bytes) : std::nullopt;
}

std::string fingerprint_of(const PublicKey& key) {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256(digest.data(), key.data(), key.size());
    std::string text(2 * digest.size() + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
    text.pop_back();
    return text;
}

Result<PublicKey> DeviceKey::public_key() const {
    SecretKey secret;
    const auto there = ready().and_then([&] { return read(file_, secret); });
    const Status kept = there.and_then([&](bool is_there) { return is_there ? Status() : make(file_, secret); });
    return kept.map([&] {
        PublicKey key{};
        crypto_scalarmult_base(key.data(), secret.bytes.data());
        return key;
    });
}

Result<std::string> DeviceKey::open(std::string_view seal) const {
    SecretKey secret;
    const auto there = ready().and_then([&] { return read(file_, secret); });
    if (!there) {
        return tl::unexpected<Error>(there.error());
    }
    PublicKey key{};
    crypto_scalarmult_base(key.data(), secret.bytes.data());
    const bool long_enough = seal.size() >= crypto_box_SEALBYTES;
    std::string document(long_enough ? seal.size() - crypto_box_SEALBYTES : 0, '\0');
    if (!*there || !long_enough ||
        crypto_box_seal_open(bytes_of(document), bytes_of(seal), seal.size(), key.data(), secret.bytes.data()) != 0) {
        return failure("does not open with this laptop's key");
    }
    return document;
}

}  // namespace happe
