//! Where the library deliberately does something else than the reference: rules with reasons, which must hold for
//! records that nobody has seen.

use serde_json::Value;

use crate::grammar;
use crate::lossy::loses_information;
use crate::record::{Action, Record, ToolDef};
use crate::script::prepare;

/// A rule that says of which records no agreement is asked.
struct Rule {
    name: &'static str,
    holds: fn(&Record) -> bool,
}

const RULES: [Rule; 7] = [
    Rule { name: "resume retries after a failed answer", holds: resume_retries },
    Rule { name: "queues are left alone after an abort", holds: abort_leaves_queues },
    Rule { name: "an abort drops a waiting hook", holds: abort_drops_hooks },
    Rule { name: "an abort cuts a stream that ignores it", holds: abort_cuts_streams },
    Rule { name: "a stream without a terminal delta fails", holds: streams_need_an_end },
    Rule { name: "a failed run ends balanced", holds: failed_runs_end_balanced },
    Rule { name: "coercion never loses information", holds: coercion_loses_nothing },
];

/// The rule that excuses a record, if one does.
pub(crate) fn excuse(record: &Record) -> Option<&'static str> {
    RULES.iter().find(|rule| (rule.holds)(record)).map(|rule| rule.name)
}

/// The reference refuses to continue after every assistant message. Here a failed or aborted answer is asked for again,
/// and calls without a result are answered by repair; only a complete answer is refused.
fn resume_retries(record: &Record) -> bool {
    let refused = record.trace.calls.iter().any(|call| call["result"] == "last_is_assistant");
    refused && tails_of_continues(record).iter().any(is_unfinished_answer)
}

fn is_unfinished_answer(message: &Value) -> bool {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    message["role"] == "assistant"
        && (matches!(message["stopReason"].as_str(), Some("error" | "aborted"))
            || blocks.iter().any(|block| block["type"] == "toolCall"))
}

/// The last message at each `continue` of the schedule.
fn tails_of_continues(record: &Record) -> Vec<Value> {
    let mut tail = record.scenario.messages.last().cloned().unwrap_or_default();
    let mut tails = Vec::new();
    let mut from = 0;
    for (action, mark) in record.scenario.schedule.iter().zip(&record.trace.marks) {
        let events = &record.trace.events[from..*mark];
        let told = events.iter().rev().find(|event| event["type"] == "message_end");
        tail = told.map_or(tail, |event| event["message"].clone());
        from = *mark;
        match action.name.as_str() {
            "continue" => tails.push(tail.clone()),
            _ => changed_tail(action, &mut tail),
        }
    }
    tails
}

/// What a change of the transcript between two runs makes the last message.
fn changed_tail(action: &Action, tail: &mut Value) {
    match action.name.as_str() {
        "setMessages" => *tail = action.messages.iter().flatten().last().cloned().unwrap_or_default(),
        "appendMessage" => *tail = action.message.clone().unwrap_or_default(),
        "reset" => *tail = Value::Null,
        _ => {}
    }
}

/// After an abort the reference still writes a queued, prepared or declaring message, which nobody answers then. Here
/// nothing more is put in, and what was queued stays queued.
fn abort_leaves_queues(record: &Record) -> bool {
    record.has_tag("abort_delivers_queue")
}

/// After an abort the reference waits for every hook. Here a waiting hook is polled once more and dropped, so the run
/// goes on earlier and without its effect; only `finishTurn`, where hosts save, is waited for.
fn abort_drops_hooks(record: &Record) -> bool {
    let dropped = record.scenario.hooks.iter().filter(|(hook, _)| *hook != "finishTurn");
    let waits = dropped.flat_map(|(_, entries)| entries.values()).any(|entry| entry.get("wait").is_some());
    record.has_tag("abort_hook_waits") && waits
}

/// The reference waits for a stream that goes on after an abort, and takes what it says. Here the stream is dropped.
fn abort_cuts_streams(record: &Record) -> bool {
    record.has_tag("stream_ignores_abort")
}

/// The reference has a side channel for the final message of a stream. Here there is none: a stream that just ends is a
/// failed answer.
fn streams_need_an_end(record: &Record) -> bool {
    record.has_tag("stream_ends_without_terminal")
}

/// When a hook or the stream function throws, the reference tells its substitute answer whatever was open. Here what is
/// open is closed first. Excused is a trace whose own events break the grammar.
fn failed_runs_end_balanced(record: &Record) -> bool {
    record.has_tag("run_failure") && grammar::check_events(&record.trace.events).is_err()
}

/// The reference makes arguments fit also where they then say something else: `null` becomes a text, a decimal is cut to
/// an integer. Here such a call is refused. Excused is a trace that takes such arguments.
fn coercion_loses_nothing(record: &Record) -> bool {
    let messages = record.trace.events.iter().filter(|event| event["type"] == "message_end");
    let blocks = messages.filter_map(|event| event["message"]["content"].as_array()).flatten();
    blocks.filter(|block| block["type"] == "toolCall").any(|call| {
        let def = record.scenario.tool_defs.values().find(|def| call["name"] == *def.name);
        is_taken(record, call) && def.is_some_and(|def| takes_with_loss(def, &call["arguments"]))
    })
}

/// Whether the reference found a call's arguments good: a hook is asked about it, or it is executed.
fn is_taken(record: &Record, call: &Value) -> bool {
    let is_asked = |hook: &Value| hook["hook"] == "beforeToolCall" && hook["call"] == call["id"];
    let is_executed = call["id"].as_str().is_some_and(|id| record.trace.executions.contains_key(id));
    is_executed || record.trace.hooks.iter().any(is_asked)
}

fn takes_with_loss(def: &ToolDef, arguments: &Value) -> bool {
    let script = def.prepare.clone().unwrap_or_default();
    let prepared = prepare(&script, arguments.as_object().cloned().unwrap_or_default());
    prepared.is_ok_and(|prepared| loses_information(&prepared.into(), &def.parameters))
}
