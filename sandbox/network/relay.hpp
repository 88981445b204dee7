// Copies bytes between two connected sockets, both ways, until both ways have
// ended. A FIN is passed on as a FIN and the other way goes on (half-close); a
// reset or an error is passed on as a reset, so that a cut transfer never looks
// complete. Back-pressure is the sockets' own: nothing is read that was not
// written, but one buffer per way. Small transfers are copied through a shared
// buffer; a way that fills it goes on with a large one, and wakes up less often.
// (Not splice(2): its many single pages cost the reader more than the copy that
// they save, docs/benchmarks.md.)
//
// Asio thread only. Owns both sockets and itself by its pending waits.
#pragma once

#include "sandbox/network/buffer_pool.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace piorch::sandbox::network {

class relay;

// What all relays of a sandbox share.
struct relay_resources {
  buffer_pool large;
  std::vector<char> buffer; // of use only within one call
  // How long a half-closed connection may go without a byte.
  const std::chrono::steady_clock::duration half_closed;
  explicit relay_resources(std::chrono::steady_clock::duration half_closed_time);

  std::unordered_set<relay*> live;
  std::size_t coming = 0;        // relays whose server is still being dialled
  bool finishing = false;        // whoever starts has to finish()
  std::function<void()> on_rest; // none is left, and none will come
  void check_rest() const;
};

class relay : public std::enable_shared_from_this<relay> {
public:
  using socket = boost::asio::ip::tcp::socket;

  // `to_server` and `to_client` are sent first: what was read from the client
  // before, and a proxy's last words to it. `on_end` is called once, when both
  // sockets are closed.
  relay(socket client, socket server, std::string to_server, std::string to_client,
        std::shared_ptr<relay_resources> shared, std::function<void()> on_end);
  ~relay();

  void start();
  // Resets both connections.
  void abort();
  // The client's process is gone: what it has sent goes to the server for a bounded time,
  // what the server says to nobody. Then the connections end: with all of it delivered or
  // in the kernel's hands in good order, else by a reset.
  void finish();

private:
  struct way {
    socket& from;
    socket& to;
    buffer_pool::buffer large = {}; // lent
    std::string held = {};          // read into the shared buffer and not yet written
    std::size_t at = 0, size = 0;   // what of `large` or `held` is not yet written
    std::size_t last = 0;           // how many bytes came at once
    std::size_t burst = 0;          // and without a wait between them
    std::unique_ptr<boost::asio::steady_timer> patience = {};
    bool patient = false;  // waits for relay_patience_bytes
    bool read_end = false; // FIN received
    bool done = false;     // FIN passed on
  };
  enum class progress { moved, wait_to_read, wait_to_write, ended, failed };

  bool take_along(way& w);
  void pump(way& w);
  progress step(way& w);
  progress read(way& w);
  progress write(way& w);
  void wait_to_read(way& w);
  void wait_to_write(way& w);
  void be_patient(way& w, bool patient);
  void return_buffer(way& w);
  void on_way_done();
  void arm_half_closed_timer();
  progress discard();
  void make_room();
  void arm_stall_timer(std::chrono::steady_clock::duration after);
  void close_in_good_order();
  void close();

  socket client_;
  socket server_;
  way up_{client_, server_};
  way down_{server_, client_};
  std::shared_ptr<relay_resources> shared_;
  std::function<void()> on_end_;
  std::unique_ptr<boost::asio::steady_timer> half_closed_; // while finishing: the stall
  bool moved_since_ = false;
  bool finishing_ = false;
  bool room_made_ = false;
  std::chrono::steady_clock::time_point moved_up_; // of use while finishing
  bool closed_ = false;
};

} // namespace piorch::sandbox::network
