// Whether references that come out of a sandbox may be read by the Git outside. Pure; any thread.
//
// Attack closed here: a reference that is a symbolic one to a name outside `refs/`, which Git
// then writes as a file.
#pragma once

#include <string_view>

namespace piorch::sandbox::guard {

// A file that Git may read as an index: `index` and `sharedindex.*` of a repository, its
// submodules and work trees. `path`: relative to a Git directory, as below.
bool is_index_name(std::string_view path);

// A file that Git may read as a reference: what is below `refs/`, HEAD and other names at the
// top (refs.c: is_root_ref) except FETCH_HEAD and MERGE_HEAD, which are lists. Locks are
// none, they become one by being renamed; nor are reflogs and what git-svn keeps.
bool is_ref_path(std::string_view path);

// nullptr if harmless, else why not. As refs/files-backend.c reads it: an object id or
// `ref:` and a name, here one below refs/ without `..`, `.git` and what no name of a reference has.
// Git takes whatever follows the id and a blank, but writes nothing there: it could be read as
// something else, by another name. An empty file is harmless.
const char* bad_ref(std::string_view bytes);

} // namespace piorch::sandbox::guard
