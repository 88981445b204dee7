// The newest documents of all sessions that one orchestrator knows, live and
// ended, and what has changed in them since when. Pure; one owner.
#pragma once

#include "config/result.hpp"
#include "orchestration/session_document.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace piorch::orchestration {

using document_ptr = std::shared_ptr<const session_document>;

class session_list {
public:
  // A session is new or has changed. Every call is a new revision.
  void put(document_ptr d);
  void forget(const std::string& id);

  // Nothing: unknown.
  document_ptr get(const std::string& id) const;
  // The id of the one that is meant (session_id.hpp).
  result<std::string> find(const std::string& reference) const;
  bool has_live_name(const std::string& name) const;

  // Counts the changes; the number of the newest one.
  std::uint64_t revision() const noexcept { return revision_; }

  // What is new after a revision, oldest session first.
  struct changes {
    std::vector<document_ptr> sessions;
    // These are all there are: one was forgotten meanwhile, or `after` is none of our
    // revisions.
    bool all = false;
  };
  changes since(std::optional<std::uint64_t> after) const;
  // Whether that session (every one, if none is named) has changed after it.
  bool has_news(std::uint64_t after, const std::string& id) const;

private:
  struct entry {
    document_ptr document;
    std::uint64_t changed = 0; // revision
  };
  std::map<std::string, entry> entries_;
  std::uint64_t revision_ = 0;
  std::uint64_t forgot_ = 0; // revision of the last forgetting
};

} // namespace piorch::orchestration
