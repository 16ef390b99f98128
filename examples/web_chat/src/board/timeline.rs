//! The timeline of a run: what happened when.

use std::collections::VecDeque;

use serde::Serialize;
use turnstate::message::Timestamp;

use super::{Call, now};

/// The marks of the run under way, or of the last one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline {
    marks: VecDeque<Mark>,
}

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mark {
    moment: Moment,
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<Flaw>,
}

/// Why what ended did not end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Flaw {
    Failed,
    Stopped,
    #[serde(rename = "did not run")]
    DidNotRun,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Moment {
    RunStart,
    TurnStart,
    AnswerStart,
    AnswerEnd,
    CallStart,
    CallEnd,
    TurnEnd,
    RunEnd,
}

impl Mark {
    pub(crate) fn new(moment: Moment) -> Self {
        Self { moment, at: now(), call: None, name: None, flaw: None }
    }

    pub(crate) fn of_call(moment: Moment, call: &Call) -> Self {
        Self { call: Some(call.number()), name: Some(call.name().to_owned()), ..Self::new(moment) }
            .with(call.flaw())
    }

    pub(crate) fn at(self, at: Timestamp) -> Self {
        Self { at, ..self }
    }

    pub(crate) fn with(self, flaw: Option<Flaw>) -> Self {
        Self { flaw, ..self }
    }
}

impl Timeline {
    /// A long run's oldest marks are forgotten from here on, on the page (`store.js`) too.
    const MOST: usize = 500;

    /// Starts anew with this mark.
    pub(crate) fn begin(&mut self, mark: Mark) -> Mark {
        self.marks.clear();
        self.add(mark)
    }

    pub(crate) fn add(&mut self, mark: Mark) -> Mark {
        if self.marks.len() == Self::MOST {
            self.marks.pop_front();
        }
        self.marks.push_back(mark.clone());
        mark
    }

    pub(crate) fn marks(&self) -> Vec<Mark> {
        self.marks.iter().cloned().collect()
    }
}
