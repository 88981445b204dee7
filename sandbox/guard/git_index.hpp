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
const char* bad_index(std::string_view bytes, std::size_t id_size);

// The same where the repository's object format is not known; the index does not name it. It
// must be a harmless one for one of the two, and for the other one Git would have to find no
// path that leads outside, however much it puts up with.
// Weaker: an absolute path counts for the other one only if that ends within the file, as
// paths of ordinary indexes, read from their middle, often begin with a slash. And of those with
// a single entry, one in some thousands is refused although it is harmless.
const char* bad_index(std::string_view bytes);

} // namespace piorch::sandbox::guard
