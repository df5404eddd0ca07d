// SPDX-License-Identifier: GPL-2.0-or-later
// The laptop's key pair. A study server seals conditions for it: X25519, libsodium's crypto_box_seal.
#pragma once

#include "governor/core/result.h"

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace happe {

using PublicKey = std::array<unsigned char, 32>;

// Base64 with padding, the form for enrolment at the study server.
std::string base64_of(const PublicKey& key);

// The bytes of a line of base64 without surrounding blanks; empty if it is not base64.
std::optional<std::string> bytes_of_base64(std::string_view text);

// The key's name for people: SHA-256 of its bytes, in hexadecimal.
std::string fingerprint_of(const PublicKey& key);

// The secret half is in a file of 32 bytes, mode 0600. It is in memory only while one of these functions runs.
class DeviceKey {
public:
    explicit DeviceKey(std::filesystem::path file) : file_(std::move(file)) {}

    // The first call creates the pair, which is on the disk when it returns. An error, without a change, if the file is
    // not a key or others may read it.
    [[nodiscard]] Result<PublicKey> public_key() const;

    // The sealed text. An error reveals nothing about it.
    [[nodiscard]] Result<std::string> open(std::string_view seal) const;

private:
    std::filesystem::path file_;
};

}  // namespace happe
