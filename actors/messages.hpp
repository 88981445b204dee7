// Everything that actors say to each other, by who says it. Commands are imperative
// (end_sandbox), facts are past (sandbox_started). A line each: who says it, and what
// follows. Nothing here crosses a process boundary, so plain structs do.
//
// A new message: a struct in one of these, and its name in the list below.
#pragma once

#include "actors/broker_messages.hpp"
#include "actors/client_messages.hpp"
#include "actors/sandbox_messages.hpp"
#include "actors/session_messages.hpp"
#include "actors/worker_messages.hpp"

// clang-format off
#define PIORCH_MESSAGES(X) \
  X(actors::init_said) \
  X(actors::tree_gone) \
  X(actors::end_sandbox) \
  X(actors::deliver_signal) \
  X(actors::resume_command) \
  X(actors::hold_tree) \
  X(actors::grace_over) \
  X(actors::time_limit_reached) \
  X(actors::sandbox_started) \
  X(actors::sandbox_listening) \
  X(actors::sandbox_stopped) \
  X(actors::sandbox_held) \
  X(actors::path_refused) \
  X(actors::sandbox_ended) \
  X(actors::connect_asked) \
  X(actors::connect_gone) \
  X(actors::connect_answered) \
  X(actors::approval_answered) \
  X(actors::approval_withdrawn) \
  X(actors::approval_expired) \
  X(actors::approval_settled) \
  X(actors::send_input) \
  X(actors::close_input) \
  X(actors::grant_output) \
  X(actors::stop_broker) \
  X(actors::answer_approval) \
  X(actors::broker_started) \
  X(actors::broker_output) \
  X(actors::broker_event) \
  X(actors::broker_ended) \
  X(actors::broker_frame) \
  X(actors::broker_gone) \
  X(actors::broker_overdue) \
  X(actors::client_asked) \
  X(actors::client_answered) \
  X(actors::client_written) \
  X(actors::client_gone) \
  X(actors::command_chunk) \
  X(actors::cancel_command) \
  X(actors::command_done) \
  X(actors::watch_client) \
  X(actors::watch_command) \
  X(actors::end_everything) \
  X(actors::close_client) \
  X(actors::end_and_leave) \
  X(actors::leave) \
  X(actors::idle_over) \
  X(actors::follow_session) \
  X(actors::unfollow_session) \
  X(actors::session_events) \
  X(actors::events_taken) \
  X(actors::count_live) \
  X(actors::live_count) \
  X(actors::stop_all) \
  X(ipc::session_start_params) \
  X(ipc::session_follow_up_params) \
  X(ipc::session_handoff_params) \
  X(ipc::session_wait_params) \
  X(ipc::session_status_params) \
  X(ipc::session_abort_params) \
  X(ipc::session_stop_params) \
  X(ipc::session_answer) \
  X(ipc::session_status_result) \
  X(ipc::session_follow_result) \
  X(done) \
  X(actors::join_approvers) \
  X(actors::approval_wanted) \
  X(actors::approval_unwanted) \
  X(actors::answer_pending) \
  X(actors::approval_shown) \
  X(actors::approval_over) \
  X(ipc::approval_list_params) \
  X(ipc::approval_list_result) \
  X(actors::run_task) \
  X(actors::wait_settled) \
  X(actors::abort_run) \
  X(actors::end_session) \
  X(actors::session_changed) \
  X(actors::session_broker) \
  X(actors::task_overdue) \
  X(actors::wait_overdue) \
  X(actors::abort_overdue) \
  X(actors::start_overdue) \
  X(actors::retire_session) \
  X(actors::replay_session) \
  X(actors::worker_said) \
  X(actors::worker_link_closed) \
  X(actors::worker_asked) \
  X(actors::worker_over) \
  X(actors::heartbeat_due) \
  X(actors::worker_news) \
  X(actors::flush_due) \
  X(actors::sandbox_begun) \
  X(actors::command_begun) \
  X(actors::command_noted) \
  X(actors::command_over) \
  X(actors::measure_due) \
  X(ipc::command_list_params) \
  X(ipc::command_list_result) \
  X(ipc::command_report_params) \
  X(ipc::command_report_result)
// clang-format on

#define PIORCH_ADD_ID(name) CAF_ADD_TYPE_ID(piorch, (piorch::name))
CAF_BEGIN_TYPE_ID_BLOCK(piorch, caf::first_custom_type_id)
PIORCH_MESSAGES(PIORCH_ADD_ID)
CAF_END_TYPE_ID_BLOCK(piorch)
#undef PIORCH_ADD_ID

// They stay in this process: no serialisation.
#define PIORCH_ALLOW(name) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(piorch::name)
PIORCH_MESSAGES(PIORCH_ALLOW)
#undef PIORCH_ALLOW
