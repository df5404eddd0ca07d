// SPDX-License-Identifier: GPL-2.0-or-later
// The two keys that an administrator chooses, by name or by pressing them.
#pragma once

#include "governor/happectl/setup/setup.h"

namespace happe::ctl {

// Returns the keys if happed can bind both and they differ.
Outcome<KeyPair> checked(const KeyPair& keys);

// Asks for one key after the other, and takes the first pressed key that types no text. happed need not run: starts the
// socket of happed-keys and asks happed-keys as happed would.
Outcome<KeyPair> pressed_keys(const SetupOptions& options);

}  // namespace happe::ctl
