#include "orchestration/session_list.hpp"

#include "orchestration/session_id.hpp"

#include <algorithm>

namespace piorch::orchestration {

void session_list::put(document_ptr d) {
  auto& e = entries_[d->id];
  e.document = std::move(d);
  e.changed = ++revision_;
}

void session_list::forget(const std::string& id) {
  if (entries_.erase(id) != 0)
    forgot_ = ++revision_;
}

document_ptr session_list::get(const std::string& id) const {
  const auto i = entries_.find(id);
  return i == entries_.end() ? nullptr : i->second.document;
}

result<std::string> session_list::find(const std::string& reference) const {
  std::vector<session_entry> all;
  all.reserve(entries_.size());
  for (const auto& [id, e] : entries_)
    all.push_back({id, e.document->name, is_live(e.document->state)});
  return find_session(all, reference);
}

bool session_list::has_live_name(const std::string& name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& e) {
    const auto& d = *e.second.document;
    return d.name == name && is_live(d.state);
  });
}

session_list::changes session_list::since(std::optional<std::uint64_t> after) const {
  changes out;
  out.all = !after || *after < forgot_ || *after > revision_;
  for (const auto& [id, e] : entries_)
    if (out.all || e.changed > *after)
      out.sessions.push_back(e.document);
  return out;
}

bool session_list::has_news(std::uint64_t after, const std::string& id) const {
  if (id.empty() || after > revision_)
    return after != revision_;
  const auto i = entries_.find(id);
  return i == entries_.end() || i->second.changed > after;
}

} // namespace piorch::orchestration
