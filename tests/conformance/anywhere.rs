//! The scenarios again, with an abort somewhere: nobody recorded what the reference does then, but the grammar and the
//! invariants hold all the same, and `Run` and `Agent` agree.

use std::collections::HashMap;
use std::sync::Arc;

use crate::play::{NOT_ENDED, Way, play};
use crate::record::{Action, Api, OnEvent, Record, Scenario};
use crate::{compare, grammar, record};

#[test]
fn an_abort_between_any_two_actions_keeps_the_invariants() {
    check_all(|record| {
        let places = 0..=record.scenario.schedule.len();
        places.map(|at| varied(record, |scenario| scenario.schedule.insert(at, abort()))).collect()
    });
}

#[test]
fn an_abort_at_any_event_keeps_the_invariants() {
    check_all(|record| {
        if record.scenario.api != Api::Agent {
            return Vec::new();
        }
        let mut counts = HashMap::<&str, usize>::new();
        let mut places = Vec::new();
        for event in &record.trace.events {
            let kind = event["type"].as_str().unwrap();
            let n = counts.entry(kind).or_default();
            *n += 1;
            places.push(OnEvent { event: kind.to_owned(), n: *n, actions: vec![abort()], wait: None });
        }
        let places = places.into_iter().step_by(EVERY);
        places.map(|place| varied(record, |scenario| scenario.on_event.push(place))).collect()
    });
}

/// Of the events, and of the generated records, each so many-th is taken: all of them take minutes, and have been seen
/// to hold.
const EVERY: usize = 5;

fn varied(record: &Record, vary: impl FnOnce(&mut Scenario)) -> Scenario {
    let mut scenario = Scenario::clone(&record.scenario);
    vary(&mut scenario);
    scenario
}

fn abort() -> Action {
    Action { name: "abort".to_owned(), ..Action::default() }
}

/// Replays variations of the records. The scripts release only the gates that are reached without the abort, so a run
/// may be left waiting for one of its tools: but few are.
fn check_all(vary: impl Fn(&Record) -> Vec<Scenario>) {
    let dir = record::data_dir();
    let mut broken = Vec::new();
    let (mut all, mut waiting) = (0, 0);
    for record in record::cases(&dir).into_iter().chain(record::random(&dir).into_iter().step_by(EVERY)) {
        for (at, scenario) in vary(&record).into_iter().enumerate() {
            all += 1;
            match check(&Arc::new(scenario)) {
                Checked::Good => {}
                Checked::Waiting => waiting += 1,
                Checked::Broken(what) => broken.push(format!("{} varied at {at}: {what}", record.name)),
            }
        }
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
    assert!(waiting * 10 <= all, "{waiting} of {all} wait");
}

enum Checked {
    Good,
    /// A tool waits for ever.
    Waiting,
    Broken(String),
}

fn check(scenario: &Arc<Scenario>) -> Checked {
    let by_run = play(scenario, Way::Run);
    if by_run.ledger.faults.iter().any(|fault| fault == NOT_ENDED) {
        return Checked::Waiting;
    }
    let mut broken = grammar::check(&by_run.trace, &by_run.ledger).err();
    if scenario.api == Api::Agent && broken.is_none() {
        let by_agent = play(scenario, Way::Agent);
        broken = grammar::check(&by_agent.trace, &by_agent.ledger).err();
        broken = broken.or_else(|| compare::between(&by_agent.trace, &by_run.trace));
    }
    broken.map_or(Checked::Good, Checked::Broken)
}
