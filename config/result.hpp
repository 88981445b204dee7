// A value or the reason there is none. Used inside and between rooms for
// expected failures (refusals and faults); exceptions come from libraries only.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace piorch {

// What went wrong, as far as a caller may want to tell it apart. Each maps to a
// JSON-RPC code and an exit status (contract, sections 3 and 5).
enum class failure {
  fault,                 // a system call or a peer failed
  usage,                 // the caller asked for something malformed
  limit_reached,         // live sessions or nesting depth
  unknown_session,       //
  unknown_approval,      //
  session_failed,        // the worker or its model reported an error
  session_stopped,       //
  sandbox_unavailable,   // no sandbox can be made on this machine
  configuration_invalid, // the trusted file is not usable
  timed_out,             //
  cancelled,             //
  approval_unavailable,  // nobody could be asked
  unreachable,           // no orchestrator answered
};

// One failure with a sentence for the user: what it is about, and the remedy.
struct error {
  failure code = failure::fault;
  std::string text;
};

template <class T> class [[nodiscard]] result {
public:
  result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  result(error e) : v_(std::in_place_index<1>, std::move(e)) {}

  explicit operator bool() const noexcept { return v_.index() == 0; }
  T& operator*() & { return get(); }
  const T& operator*() const& { return const_cast<result*>(this)->get(); }
  T&& operator*() && { return std::move(get()); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &const_cast<result*>(this)->get(); }

  const error& failed() const& {
    assert(v_.index() == 1);
    return *std::get_if<1>(&v_);
  }
  error&& failed() && {
    assert(v_.index() == 1);
    return std::move(*std::get_if<1>(&v_));
  }

private:
  T& get() {
    assert(v_.index() == 0);
    return *std::get_if<0>(&v_);
  }
  std::variant<T, error> v_;
};

// Success without a value.
struct done {};

} // namespace piorch
