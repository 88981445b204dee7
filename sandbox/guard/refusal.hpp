// Who is told about refusals.
#pragma once

namespace piorch::sandbox::guard {

// Any supervisor thread, may be several at a time; must not block.
struct refusal_sink {
  void (*tell)(void* context, const char* path, const char* rule) = nullptr;
  void* context = nullptr;

  void operator()(const char* path, const char* rule) const {
    if (tell)
      tell(context, path, rule);
  }
};

} // namespace piorch::sandbox::guard
