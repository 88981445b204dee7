// Makes the warm compile cache of one Node and Pi, in a sandbox of its own; quits when
// that is done, failed or over its time, or when the supervisor is gone.
#pragma once

#include "actors/remote_broker.hpp"
#include "orchestration/compile_cache.hpp"

namespace piorch::actors {

struct warming {
  orchestration::compile_cache cache;
  orchestration::compile_cache::preparation made;
  std::string job; // sandbox::job_text
};

struct cache_warmer_state {
  static inline const char* name = "cache_warmer";
  watches watched;
  remote_broker_handle broker;
  std::string tail; // of what it said
  bool through = false;
};

broker_owner_handle::behavior_type
cache_warmer_actor(broker_owner_handle::stateful_pointer<cache_warmer_state> self,
                   const std::shared_ptr<warming>& work, const broker_starter& start,
                   const caf::actor& supervisor);

} // namespace piorch::actors
