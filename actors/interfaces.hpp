// All typed actors, a line for each message they take (actors/messages.hpp says
// who sends it).
#pragma once

#include "actors/messages.hpp"

namespace piorch::actors {

// Wraps the process tree of one sandbox: decides what happens to it.
using sandbox_handle =
    caf::typed_actor<caf::reacts_to<init_said>, caf::reacts_to<tree_gone>,
                     caf::reacts_to<end_sandbox>, caf::reacts_to<deliver_signal>,
                     caf::reacts_to<resume_command>, caf::reacts_to<hold_tree>,
                     caf::reacts_to<grace_over>, caf::reacts_to<time_limit_reached>>;

// Owns one sandbox from start to clean-up, in a process of its own.
using broker_handle =
    caf::typed_actor<caf::reacts_to<sandbox_started>, caf::reacts_to<sandbox_listening>,
                     caf::reacts_to<sandbox_stopped>, caf::reacts_to<sandbox_held>,
                     caf::reacts_to<path_refused>, caf::reacts_to<sandbox_ended>,
                     caf::reacts_to<end_sandbox>, caf::reacts_to<deliver_signal>,
                     caf::reacts_to<resume_command>, caf::reacts_to<hold_tree>>;

// -- network approvals -----------------------------------------------------------

// Whoever opens approvals.
using approval_owner_handle = caf::typed_actor<caf::reacts_to<approval_settled>>;

// Asks for the connections of one sandbox that no rule decides.
using proxy_handle =
    approval_owner_handle::extend<caf::reacts_to<connect_asked>, caf::reacts_to<connect_gone>,
                                  caf::reacts_to<connect_answered>>;

// One question, from the asking to the answer or to the end of its time.
using approval_handle =
    caf::typed_actor<caf::reacts_to<approval_answered>, caf::reacts_to<approval_withdrawn>,
                     caf::reacts_to<approval_expired>>;

// -- the orchestrator ------------------------------------------------------------

// What a broker process says to whoever wanted it: a command or a session.
using broker_owner_handle =
    caf::typed_actor<caf::reacts_to<broker_started>, caf::reacts_to<broker_output>,
                     caf::reacts_to<broker_event>, caf::reacts_to<broker_ended>>;

// Asks the desk for approvals.
using approval_asker_handle = caf::typed_actor<caf::reacts_to<answer_approval>>;

// Stands for one broker process.
using remote_broker_handle = caf::typed_actor<
    caf::reacts_to<send_input>, caf::reacts_to<close_input>, caf::reacts_to<grant_output>,
    caf::reacts_to<deliver_signal>, caf::reacts_to<answer_approval>, caf::reacts_to<stop_broker>,
    caf::reacts_to<broker_frame>, caf::reacts_to<broker_gone>, caf::reacts_to<broker_overdue>>;

// One command.run: the owner of its broker, asked by its client; may ask for approval.
using command_handle =
    broker_owner_handle::extend<caf::reacts_to<cancel_command>, caf::reacts_to<grant_output>,
                                caf::reacts_to<answer_approval>>;

// Whoever sends session_events.
using event_source_handle = caf::typed_actor<caf::reacts_to<events_taken>>;

// One worker of pi-subagents, as long as it lives.
using external_worker_handle =
    approval_asker_handle::extend<caf::reacts_to<worker_asked>, caf::reacts_to<worker_over>,
                                  caf::reacts_to<heartbeat_due>>;

// Where the workers of one Pi session sign in.
using worker_supervisor_handle =
    caf::typed_actor<caf::reacts_to<worker_said>, caf::reacts_to<worker_link_closed>>;

// One client connection.
using client_handle = caf::typed_actor<
    caf::reacts_to<client_asked>, caf::reacts_to<client_answered>, caf::reacts_to<client_written>,
    caf::reacts_to<client_gone>, caf::reacts_to<command_chunk>, caf::reacts_to<command_done>,
    caf::reacts_to<session_events>, caf::reacts_to<approval_shown>, caf::reacts_to<approval_over>,
    caf::reacts_to<worker_news>, caf::reacts_to<close_client>>;

// Knows every question of this orchestrator that waits for an answer.
using approval_desk_handle = approval_owner_handle::extend<
    caf::reacts_to<join_approvers>, caf::reacts_to<approval_wanted>,
    caf::reacts_to<approval_unwanted>, caf::replies_to<answer_pending>::with<done>,
    caf::replies_to<ipc::approval_list_params>::with<ipc::approval_list_result>>;

// Knows what runs in this orchestrator's sandboxes, and what it uses.
using sandbox_list_handle =
    caf::typed_actor<caf::reacts_to<sandbox_begun>, caf::reacts_to<command_begun>,
                     caf::reacts_to<command_noted>, caf::reacts_to<command_over>,
                     caf::reacts_to<measure_due>,
                     caf::replies_to<ipc::command_list_params>::with<ipc::command_list_result>,
                     caf::replies_to<ipc::command_report_params>::with<ipc::command_report_result>>;

// Knows who is there, and ends everything.
using keeper_handle =
    caf::typed_actor<caf::reacts_to<watch_client>, caf::reacts_to<watch_command>,
                     caf::replies_to<end_everything>::with<done>, caf::reacts_to<end_and_leave>,
                     caf::reacts_to<leave>, caf::reacts_to<idle_over>>;

// Counts, starts and finds sessions.
using supervisor_handle =
    caf::typed_actor<caf::replies_to<ipc::session_start_params>::with<ipc::session_answer>,
                     caf::replies_to<ipc::session_follow_up_params>::with<ipc::session_answer>,
                     caf::replies_to<ipc::session_handoff_params>::with<ipc::session_answer>,
                     caf::replies_to<ipc::session_wait_params>::with<ipc::session_answer>,
                     caf::replies_to<ipc::session_status_params>::with<ipc::session_status_result>,
                     caf::replies_to<ipc::session_abort_params>::with<done>,
                     caf::replies_to<ipc::session_stop_params>::with<done>,
                     caf::replies_to<follow_session>::with<ipc::session_follow_result>,
                     caf::reacts_to<unfollow_session>,
                     caf::replies_to<count_live>::with<live_count>,
                     caf::replies_to<stop_all>::with<done>>;

// Whoever follows a session.
using follower_handle = caf::typed_actor<caf::reacts_to<session_events>>;

// One subagent session: the owner of its broker, asked by clients through the
// supervisor.
using session_handle = broker_owner_handle::extend<
    caf::replies_to<run_task>::with<ipc::session_answer>,
    caf::replies_to<wait_settled>::with<ipc::session_answer>,
    caf::replies_to<abort_run>::with<done>, caf::replies_to<end_session>::with<done>,
    caf::replies_to<follow_session>::with<ipc::session_follow_result>,
    caf::reacts_to<unfollow_session>, caf::reacts_to<events_taken>, caf::reacts_to<task_overdue>,
    caf::reacts_to<wait_overdue>, caf::reacts_to<abort_overdue>, caf::reacts_to<start_overdue>,
    caf::reacts_to<flush_due>, caf::reacts_to<retire_session>>;

// Feeds one follower with the events of a session that has ended.
using replay_handle =
    caf::typed_actor<caf::reacts_to<events_taken>, caf::reacts_to<unfollow_session>>;

// The supervisor as its sessions see it.
using session_owner_handle =
    caf::typed_actor<caf::reacts_to<session_changed>, caf::reacts_to<session_broker>,
                     caf::reacts_to<replay_session>>;

} // namespace piorch::actors
