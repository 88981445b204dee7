// Whether an index that comes out of a sandbox may be read by the Git outside.
//
// Git believes the paths in `index` and `sharedindex.*` as it wrote them: checkout, reset,
// stash and clean follow an entry `../x` or `.git/hooks/x`, which no tree could bring in.
// Formats: Documentation/gitformat-index.txt, as read-cache.c reads them. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace piorch::sandbox::guard {

// nullptr if every entry of the index has a path inside the work tree and outside Git
// directories, else why not; so is whatever Git would not have written that way: an index
// that cannot be read to its end, tables of offsets (EOIE, IEOT) that lead threads elsewhere,
// extensions unknown to us that must be understood. An empty file is harmless.
// `id_size`: bytes of an object id in this repository, 20 (SHA-1) or 32 (SHA-256).
//
// The index does not name its format, and without its config a repository of SHA-256 is one of
// SHA-1. So what is harmless for 32 is so for 20 too: Git finds no path that leads outside
// there, however much it puts up with (what is behind the end of the file is zeros to it). Of
// ordinary indexes of SHA-256 one in some hundreds is refused for that.
const char* bad_index(std::string_view bytes, std::size_t id_size);

// For a repository of SHA-1, which may be a copy whose config is still to come: harmless for one of
// the two.
const char* bad_index(std::string_view bytes);

} // namespace piorch::sandbox::guard
