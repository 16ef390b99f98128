//! What a walk through a schema may cost.
//!
//! Schemas come from strangers. Unions that branch without end, inside references that lead to each other, can
//! make a walk exponential, and compiling a subschema again and again makes it quadratic. So every walk has a
//! budget, and ends with what it has when that is spent.

use serde_json::Value;

use super::plan::{NodeId, Plan};

/// How many subschemas may follow each other into one another and into the data. Every level is a few stack
/// frames; data of the usual depth behind the usual references stays far below.
const MAX_LEVELS: usize = 256;

/// How many values a walk may look at: enough for a megabyte of arguments with unions on several levels, and
/// spent in a good part of a second.
const VALUES: usize = 4_000_000;

/// Compiling a subschema takes about as long as validating so many values.
const COMPILE: usize = 64;

/// A plan, and what may still be spent on walking it.
pub(super) struct Budget<'p> {
    plan: &'p Plan,
    values: usize,
}

impl<'p> Budget<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self { plan, values: VALUES }
    }

    pub(super) fn plan(&self) -> &'p Plan {
        self.plan
    }

    pub(super) fn is_spent(&self) -> bool {
        self.values == 0
    }

    /// Pays for looking at so many things.
    pub(super) fn pay(&mut self, things: usize) {
        self.values = self.values.saturating_sub(things);
    }

    /// Pays for a step to another subschema. `false`: the walk must not take it.
    pub(super) fn step(&mut self, level: usize) -> bool {
        self.pay(1);
        level <= MAX_LEVELS && !self.is_spent()
    }

    /// The validator's word on a value. `None`: the budget is spent.
    pub(super) fn fits(&mut self, id: NodeId, value: &Value) -> Option<bool> {
        if !self.is_spent() {
            self.pay(size(value).saturating_add(self.plan.uncompiled(id).saturating_mul(COMPILE)));
        }
        (!self.is_spent()).then(|| self.plan.fits(id, value))
    }
}

/// How many values there are in `value`, long strings counting as more.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 1,
        Value::Object(members) => members.values().map(size).sum::<usize>() + 1,
        Value::String(text) => 1 + text.len() / 64,
        _ => 1,
    }
}
