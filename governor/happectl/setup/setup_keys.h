// SPDX-License-Identifier: GPL-2.0-or-later
// The two keys that an administrator chooses, by name or by pressing them.
#pragma once

#include "governor/happectl/setup/setup.h"

namespace happe::ctl {

// The keys, if both can be bound and they differ.
Outcome<KeyPair> checked(const KeyPair& keys);

// Asks for one key after the other, and takes the first that types no text. happed need not run: happed-keys is asked
// as happed would, and its socket is started for that.
Outcome<KeyPair> pressed_keys(const SetupOptions& options);

}  // namespace happe::ctl
