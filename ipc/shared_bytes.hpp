// A run of immutable bytes that several connections write at the same time: nobody
// copies them, they go when the last one has written them. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace piorch::ipc {

class shared_bytes {
public:
  shared_bytes() = default;
  explicit shared_bytes(std::string bytes)
      : owner_(std::make_shared<const std::string>(std::move(bytes))), view_(*owner_) {}

  std::string_view view() const noexcept { return view_; }
  std::size_t size() const noexcept { return view_.size(); }
  bool empty() const noexcept { return view_.empty(); }

  // The same without the first `n` bytes.
  shared_bytes without_first(std::size_t n) const {
    auto out = *this;
    out.view_.remove_prefix(n);
    return out;
  }

private:
  std::shared_ptr<const std::string> owner_;
  std::string_view view_;
};

} // namespace piorch::ipc
