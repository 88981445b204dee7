// A session's story for people: its tasks, what the worker said and did, what was
// refused, how it ended; as plain text or as one HTML page. Event by event, so that a
// long journal needs no memory. Everything in it may be hostile: in text no control
// character is left, in HTML every word is escaped, and the page has no script, no
// attribute made of foreign words and nothing from outside. Pure.
#pragma once

#include "orchestration/session_document.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace piorch::orchestration {

enum class story_format { text, html };
// "text", "html".
std::optional<story_format> story_format_from(std::string_view word);

// The beginning: what the session is.
std::string story_head(const session_document& d, story_format format, instant now);
// One session.event's params; "" for what does not belong in a story.
std::string story_event(const nlohmann::json& numbered_event, story_format format);
// The end: the answer to the newest task, or why there is none.
std::string story_tail(const session_document& d, story_format format);

// Text between the tags of a page; control characters become visible.
std::string html_text(std::string_view text);

} // namespace piorch::orchestration
