#include "villain.hpp"
namespace villain {
int operations(unsigned) { return 0; }
} // namespace villain
