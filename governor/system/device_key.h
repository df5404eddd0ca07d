// SPDX-License-Identifier: GPL-2.0-or-later
// The laptop's own key pair, to which a study server seals conditions: X25519, libsodium's crypto_box_seal.
#pragma once

#include "governor/core/result.h"

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace happe {

using PublicKey = std::array<unsigned char, 32>;

// As the study server's enrolment takes it: base64, with padding.
std::string base64_of(const PublicKey& key);

// The bytes of a line of base64 without surrounding blanks; empty if it is not base64.
std::optional<std::string> bytes_of_base64(std::string_view text);

// By which people know it: SHA-256 of its bytes, in hexadecimal.
std::string fingerprint_of(const PublicKey& key);

// The secret half is a file of 32 bytes, mode 0600. It is in memory only while one of these functions runs.
class DeviceKey {
public:
    explicit DeviceKey(std::filesystem::path file) : file_(std::move(file)) {}

    // The first call makes the pair; it is on the disk when this returns. A file that is not a key, or that others may
    // read, is an error and stays as it is.
    [[nodiscard]] Result<PublicKey> public_key() const;

    // What was sealed. An error says nothing of what it was.
    [[nodiscard]] Result<std::string> open(std::string_view seal) const;

private:
    std::filesystem::path file_;
};

}  // namespace happe
