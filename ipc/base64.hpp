// Base64 (RFC 4648, padded), the spelling of raw bytes inside JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace piorch::ipc {

// Appends, so that a message is built without an intermediate string.
void append_base64(std::string& out, std::string_view bytes);
// Nothing on any character or padding that an encoder would not have written.
std::optional<std::string> decode_base64(std::string_view text);

} // namespace piorch::ipc
