// Boost.Asio's own code: compiled once, instead of with each file that includes it.
#include <boost/asio/impl/src.hpp>
