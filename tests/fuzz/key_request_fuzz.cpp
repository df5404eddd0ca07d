// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as what happed and happed-keys say to each other: an error that can be printed, or something that is
// written and read again without a change; never a path, and never a key to type with on its own.
#include "governor/keys/key_messages.h"

#include <algorithm>
#include <cstdlib>

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

template <typename Message>
void round_trip(const happe::Result<Message>& first, happe::Result<Message> (*parse)(std::string_view)) {
    if (!first) {
        require(std::ranges::none_of(first.error().message, [](unsigned char c) { return c < 0x20 || c == 0x7f; }));
        return;
    }
    const std::string text = to_string(*first);
    require(text.size() <= happe::kLongestKeyMessage);
    const auto second = parse(text);
    require(second && *second == *first);
}

void check(const happe::OpenRequest& open) {
    require(open.node == happe::kAllNodes || happe::is_event_node(open.node));
    require(open.node.find_first_of("/.") == std::string::npos);
    const auto untyped = happe::keys_that_do_not_type();
    for (const happe::KeyBinding& binding : {open.bindings.performance, open.bindings.power}) {
        require(binding.modifiers.asked_for() > 0 || std::ranges::binary_search(untyped, binding.code));
    }
    require(happe::watched_codes(open.bindings).size() <= 18);  // two keys, eight modifiers each
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto request = happe::parse_key_request(text);
    round_trip(request, happe::parse_key_request);
    round_trip(happe::parse_key_answer(text), happe::parse_key_answer);
    if (request && std::holds_alternative<happe::OpenRequest>(*request)) {
        check(std::get<happe::OpenRequest>(*request));
    }
    return 0;
}
