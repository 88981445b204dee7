// A mutex held for the length of a block; std::mutex would bring exceptions along.
#pragma once

#include <pthread.h>

namespace piorch::sandbox::guard {

class locked {
public:
  explicit locked(pthread_mutex_t& m) : mutex_(m) { ::pthread_mutex_lock(&mutex_); }
  ~locked() { ::pthread_mutex_unlock(&mutex_); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;

private:
  pthread_mutex_t& mutex_;
};

} // namespace piorch::sandbox::guard
