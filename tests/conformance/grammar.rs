//! What holds for every replay, whether the reference did the same or not: the grammar of the events, and the
//! invariants that can be read off them.

use serde_json::{Map, Value};

use crate::record::Trace;

/// What the scripted parts and the host noticed on their side.
#[derive(Default, Debug)]
pub(crate) struct Ledger {
    /// Everything that was queued, in order.
    pub(crate) queued: Vec<Value>,
    /// What was cleared out of a queue.
    pub(crate) cleared: Vec<Value>,
    /// What still waits at the end.
    pub(crate) waiting: Vec<Value>,
    /// Messages of prompts and hooks, which may be in the transcript too.
    pub(crate) given: Vec<Value>,
    /// How many requests were made though the signal was raised.
    pub(crate) requests_after_abort: usize,
    /// Invariants that were seen broken on the way.
    pub(crate) faults: Vec<String>,
}

/// Checks a replay.
///
/// # Errors
/// Names the first rule that is broken.
pub(crate) fn check(trace: &Trace, ledger: &Ledger) -> Result<(), String> {
    if let Some(fault) = ledger.faults.first() {
        return Err(fault.clone());
    }
    if ledger.requests_after_abort > 0 {
        return Err("a request was made after an abort".to_owned());
    }
    check_events(&trace.events)?;
    check_truncated(trace)?;
    check_queues(trace, ledger)
}

/// Every run is `agent_start turn+ agent_end`, and everything that starts ends.
pub(crate) fn check_events(events: &[Value]) -> Result<(), String> {
    let mut run: Option<Run<'_>> = None;
    for (at, event) in events.iter().enumerate() {
        let kind = event["type"].as_str().unwrap_or_default();
        match (kind, &mut run) {
            ("agent_start", None) => run = Some(Run::default()),
            ("agent_end", Some(open)) => {
                open.end(event).map_err(|broken| format!("event {at}: {broken}"))?;
                run = None;
            }
            (_, Some(open)) => open.take(kind, event).map_err(|broken| format!("event {at}: {broken}"))?,
            (kind, None) => return Err(format!("event {at}: {kind} outside of a run")),
        }
    }
    ensure(run.is_none(), "a run has not ended")
}

#[derive(Default)]
struct Run<'a> {
    turns: usize,
    turn: Option<Turn<'a>>,
    /// The message that has started and not ended.
    open: Option<&'a Value>,
    /// Whether the open turn has an answer that streamed: no other one may follow.
    answered: bool,
    messages: Vec<&'a Value>,
}

/// What a turn has so far.
#[derive(Default)]
struct Turn<'a>(Vec<Item<'a>>);

enum Item<'a> {
    Message(&'a Value),
    Start(&'a Value),
    Update(&'a Value),
    End(&'a Value),
}

impl<'a> Run<'a> {
    fn take(&mut self, kind: &str, event: &'a Value) -> Result<(), String> {
        if kind == "turn_start" {
            ensure(self.turn.is_none(), "a turn starts in a turn")?;
            self.turns += 1;
            self.answered = false;
            self.turn = Some(Turn::default());
            return Ok(());
        }
        let Some(turn) = &mut self.turn else { return Err(format!("{kind} outside of a turn")) };
        let message = &event["message"];
        match kind {
            "turn_end" => {
                ensure(self.open.is_none(), "a turn ends while a message is open")?;
                turn.check(event)?;
                self.turn = None;
            }
            "message_start" => {
                ensure(self.open.is_none(), "a message starts in a message")?;
                let is_second = self.answered && message["role"] != "toolResult";
                ensure(!is_second, "a message starts after the answer")?;
                self.open = Some(message);
                self.answered |= streams(message);
            }
            "message_update" => ensure(self.open.is_some_and(streams), "an update of no streaming answer")?,
            "message_end" => {
                let Some(started) = self.open.take() else { return Err("a message ends unstarted".into()) };
                ensure(streams(started) || started == message, "a message changed between start and end")?;
                self.messages.push(message);
                turn.0.push(Item::Message(message));
            }
            "tool_execution_start" => turn.0.push(Item::Start(event)),
            "tool_execution_update" => turn.0.push(Item::Update(event)),
            "tool_execution_end" => turn.0.push(Item::End(event)),
            other => return Err(format!("an event of no known kind: {other}")),
        }
        Ok(())
    }

    fn end(&self, event: &Value) -> Result<(), String> {
        ensure(self.turn.is_none(), "the run ends in a turn")?;
        ensure(self.turns > 0, "the run has no turn")?;
        let told = event["messages"].as_array().map_or(&[][..], Vec::as_slice);
        ensure(told.iter().eq(self.messages.iter().copied()), "agent_end does not list what the run added")
    }
}

fn streams(message: &Value) -> bool {
    message["role"] == "assistant" && message.get("stopReason").is_none()
}

fn is_usable(message: &Value) -> bool {
    !matches!(message["stopReason"].as_str(), Some("error" | "aborted"))
}

fn call_ids(message: &Value) -> Vec<&str> {
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    blocks
        .iter()
        .filter(|block| block["type"] == "toolCall")
        .filter_map(|block| block["id"].as_str())
        .collect()
}

impl Turn<'_> {
    /// Messages, the answer, its batch: each call of a usable answer starts, ends and is answered once, in order.
    fn check(&self, turn_end: &Value) -> Result<(), String> {
        let is_answer =
            |item: &Item<'_>| matches!(item, Item::Message(message) if message["role"] == "assistant");
        let Some(at) = self.0.iter().rposition(is_answer) else { return Err("a turn without answer".into()) };
        let (before, batch) = (&self.0[..at], &self.0[at + 1..]);
        let Item::Message(answer) = self.0[at] else { return Err("a turn without answer".into()) };
        ensure(before.iter().all(|item| matches!(item, Item::Message(_))), "a tool runs before the answer")?;
        ensure(turn_end["message"] == *answer, "turn_end tells another answer")?;
        let calls = if is_usable(answer) { call_ids(answer) } else { Vec::new() };
        let mut open: Vec<&str> = Vec::new();
        let mut ended: Map<String, Value> = Map::new();
        let mut started = 0;
        let mut results = Vec::new();
        for item in batch {
            match item {
                Item::Start(event) => {
                    let id = id(event);
                    ensure(calls.get(started) == Some(&id), "calls start out of order")?;
                    started += 1;
                    open.push(id);
                }
                Item::Update(event) => ensure(open.contains(&id(event)), "an update of no running call")?,
                Item::End(event) => {
                    let at = open.iter().position(|open| *open == id(event));
                    let Some(at) = at else { return Err("a call ends that does not run".into()) };
                    open.remove(at);
                    ended.insert(id(event).to_owned(), (*event).clone());
                }
                Item::Message(result) => {
                    ensure(calls.get(results.len()) == Some(&id(result)), "results are out of order")?;
                    let Some(end) = ended.get(id(result)) else {
                        return Err("a result before its end".into());
                    };
                    ensure(tells(end, result), "a result differs from its end")?;
                    results.push(*result);
                }
            }
        }
        ensure(results.len() == calls.len(), "a call has no result")?;
        ensure(open.is_empty(), "a call has not ended")?;
        let told = turn_end["toolResults"].as_array().map_or(&[][..], Vec::as_slice);
        ensure(told.iter().eq(results), "turn_end tells other results")
    }
}

fn id(event: &Value) -> &str {
    event["toolCallId"].as_str().unwrap_or_default()
}

/// Whether the end of a call told what its result says.
fn tells(end: &Value, result: &Value) -> bool {
    let same = |key: &str| end["result"].get(key) == result.get(key);
    end["isError"] == result["isError"] && same("content") && same("details") && same("usage")
}

/// No call of an answer that was cut at its length is executed.
fn check_truncated(trace: &Trace) -> Result<(), String> {
    let answers =
        trace.events.iter().filter(|event| event["type"] == "turn_end").map(|event| &event["message"]);
    let mut truncated = answers.filter(|answer| answer["stopReason"] == "length").flat_map(call_ids);
    ensure(
        truncated.all(|id| !trace.executions.contains_key(id)),
        "a call of a truncated answer was executed",
    )
}

/// Each queued message is told exactly once, or was cleared, or still waits.
fn check_queues(trace: &Trace, ledger: &Ledger) -> Result<(), String> {
    let ends = trace.events.iter().filter(|event| event["type"] == "message_end");
    let told: Vec<_> = ends.map(|event| undeclared(&event["message"])).collect();
    let count =
        |list: &[Value], message: &Value| list.iter().filter(|other| undeclared(other) == *message).count();
    for message in &ledger.queued {
        let message = &undeclared(message);
        let times = told.iter().filter(|told| *told == message).count();
        let gone = count(&ledger.cleared, message) + count(&ledger.waiting, message);
        let Some(delivered) = count(&ledger.queued, message).checked_sub(gone) else {
            return Err(format!("a queued message is there twice: {message}"));
        };
        ensure(times >= delivered, "a queued message is lost")?;
        let twice = times > delivered + count(&ledger.given, message);
        ensure(!twice || is_blank_system(message), "a queued message was told twice")?;
    }
    Ok(())
}

/// Whether a message looks like the declarations that the loop itself makes.
fn is_blank_system(message: &Value) -> bool {
    message["role"] == "system" && message["content"] == "" && message.get("sections").is_none()
}

/// A message without the declarations that are put into it when it is written.
fn undeclared(message: &Value) -> Value {
    let mut message = message.clone();
    if let Some(fields) = message.as_object_mut().filter(|fields| fields["role"] == "system") {
        fields.remove("toolsAdded");
        fields.remove("toolsRemoved");
    }
    message
}

fn ensure(holds: bool, broken: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::cases;

    /// The traces that show one batch of two calls, and a steer.
    fn example() -> Vec<Value> {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
        let mut records = cases(&dir).into_iter();
        records.find(|record| record.name == "example-two-reads-and-a-steer").unwrap().trace.events
    }

    #[test]
    fn a_trace_of_the_reference_keeps_the_grammar() {
        assert_eq!(check_events(&example()), Ok(()));
    }

    #[test]
    fn an_event_that_is_missing_or_told_twice_is_noticed() {
        let events = example();
        for at in (0..events.len()).filter(|at| events[*at]["type"] != "message_update") {
            let (mut missing, mut twice) = (events.clone(), events.clone());
            missing.remove(at);
            twice.insert(at, events[at].clone());
            assert!(check_events(&missing).is_err(), "without {}", events[at]);
            assert!(check_events(&twice).is_err(), "twice {}", events[at]);
        }
    }

    #[test]
    fn results_in_another_order_are_noticed() {
        let mut events = example();
        let results: Vec<_> =
            (0..events.len()).filter(|at| events[*at]["message"]["role"] == "toolResult").collect();
        assert_eq!(results.len(), 4);
        events.swap(results[0], results[2]);
        events.swap(results[1], results[3]);
        assert!(check_events(&events).is_err());
    }

    #[test]
    fn a_queued_message_that_is_lost_or_told_twice_is_noticed() {
        let message = serde_json::json!({"role": "user", "content": "s"});
        let told = |times: usize| {
            let end = serde_json::json!({"type": "message_end", "message": message});
            let mut trace = Trace::default();
            trace.events = vec![end; times];
            trace
        };
        let ledger = Ledger { queued: vec![message.clone()], ..Ledger::default() };
        assert!(check_queues(&told(0), &ledger).is_err());
        assert!(check_queues(&told(1), &ledger).is_ok());
        assert!(check_queues(&told(2), &ledger).is_err());
        let waiting =
            Ledger { queued: vec![message.clone()], waiting: vec![message.clone()], ..Ledger::default() };
        assert!(check_queues(&told(0), &waiting).is_ok());
        assert!(check_queues(&told(1), &waiting).is_err());
    }
}
