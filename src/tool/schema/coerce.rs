//! Coercion: a value that does not fit, brought into the representation that its schema wants.
//!
//! The walk goes along the schema's nodes. What a node itself asks of the value decides which step is taken
//! there, and wherever there is a choice the validator has the word: a value that some branch takes is left
//! alone, and a candidate must fit. The steps are the table in the documentation of the [module above](super).

use serde_json::{Map, Value};

use super::budget::Budget;
use super::depth::survey;
use super::plan::{Node, NodeId, Plan};
use super::scalar::{Kind, as_integer, convert, parse_container, same_number};

/// One coercion.
pub(super) struct Coercer<'p> {
    plan: &'p Plan,
    budget: Budget<'p>,
}

impl<'p> Coercer<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self { plan, budget: Budget::new(plan) }
    }

    /// Coerces a value as far as the schema's words on it can be followed. Whether it then fits is for the
    /// validator to say.
    pub(super) fn coerce(mut self, value: &mut Value) {
        self.coerce_at(Plan::ROOT, value, 0);
    }

    fn coerce_at(&mut self, id: NodeId, value: &mut Value, level: usize) {
        let Some(node) = self.plan.node(id).filter(|_| self.budget.step(level)) else { return };
        // Every step below asks for itself whether it is needed. Asking here spares the walk.
        if self.plan.is_cheap(id) && self.fits(id, value) {
            return;
        }
        let below = level + 1;
        self.coerce_itself(id, node, value, below);
        for all in &node.all_of {
            self.coerce_at(*all, value, below);
        }
        self.coerce_union(&node.any_of, |fitting| fitting > 0, value, below);
        self.coerce_union(&node.one_of, |fitting| fitting == 1, value, below);
        if let Some(condition) = &node.condition {
            let branch = if self.fits(condition.when, value) { condition.then } else { condition.otherwise };
            if let Some(branch) = branch {
                self.coerce_at(branch, value, below);
            }
        }
        for (key, dependent) in &node.dependents {
            if value.get(key).is_some() {
                self.coerce_at(*dependent, value, below);
            }
        }
        match value {
            Value::Object(members) => self.coerce_members(node, members, below),
            Value::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    if let Some(id) = Plan::item(node, position) {
                        self.coerce_at(id, item, below);
                    }
                }
            }
            _ => {}
        }
    }

    /// Steps that the node's own `type`, `enum` and `const` ask for.
    fn coerce_itself(&mut self, id: NodeId, node: &Node, value: &mut Value, level: usize) {
        respell_integer(node, value);
        if !node.listed.iter().any(|listed| is_same(listed, value)) {
            if let Some(listed) = node.listed.iter().find(|listed| says_the_same(value, listed)) {
                *value = listed.clone();
            }
        }
        if node.types.is_empty() || node.types.iter().any(|kind| kind.holds(value)) {
            return;
        }
        let candidates: Vec<Value> =
            node.types.iter().flat_map(|kind| self.candidates(value, *kind)).collect();
        if let Some(fitting) = candidates.iter().find(|candidate| self.fits(id, candidate)) {
            *value = fitting.clone();
            return;
        }
        for candidate in &candidates {
            let mut coerced = candidate.clone();
            self.coerce_at(id, &mut coerced, level);
            if self.fits(id, &coerced) {
                *value = coerced;
                return;
            }
        }
        // None fits, and the arguments will be refused. A scalar of the right type lets the error speak of what
        // is wrong with the value instead of its spelling.
        if let Some(scalar) =
            candidates.into_iter().find(|candidate| !candidate.is_array() && !candidate.is_object())
        {
            *value = scalar;
        }
    }

    /// What `value` may become where `wanted` is the type, best first.
    fn candidates(&self, value: &Value, wanted: Kind) -> Vec<Value> {
        let container = || {
            let container = value.as_str().and_then(parse_container);
            container.filter(|container| !survey(container, self.plan.deepest_arguments).too_deep)
        };
        match wanted {
            Kind::Object => container().filter(Value::is_object).into_iter().collect(),
            Kind::Array => {
                let wrapped = (!value.is_null()).then(|| Value::Array(vec![value.clone()]));
                container().filter(Value::is_array).into_iter().chain(wrapped).collect()
            }
            scalar => convert(value, scalar).into_iter().collect(),
        }
    }

    /// Takes the first branch that the value can be coerced to, unless some branch takes it as it is.
    fn coerce_union(
        &mut self,
        branches: &[NodeId],
        enough: fn(usize) -> bool,
        value: &mut Value,
        level: usize,
    ) {
        if branches.is_empty() || self.fitting(branches, value) > 0 {
            return;
        }
        for branch in branches {
            let mut coerced = value.clone();
            self.coerce_at(*branch, &mut coerced, level);
            if self.fits(*branch, &coerced) && enough(self.fitting(branches, &coerced)) {
                *value = coerced;
                return;
            }
        }
    }

    fn coerce_members(&mut self, node: &Node, members: &mut Map<String, Value>, level: usize) {
        let mut absent = Vec::new();
        for (key, member) in members.iter_mut() {
            let ids = self.plan.members(node, key);
            if member.is_null() && self.counts_as_absent(node, key, &ids) {
                absent.push(key.clone());
                continue;
            }
            for id in ids {
                self.coerce_at(id, member, level);
            }
        }
        for key in absent {
            members.remove(&key);
        }
    }

    /// Whether `null` under `key` only says that there is nothing. A key that is not declared is information by
    /// itself.
    fn counts_as_absent(&mut self, node: &Node, key: &str, ids: &[NodeId]) -> bool {
        node.properties.contains_key(key)
            && !node.required.iter().any(|required| required == key)
            && !ids.iter().all(|id| self.fits(*id, &Value::Null))
    }

    /// Writes integral numbers as integers wherever a value that fits has them in the place of an integer.
    pub(super) fn spell_integers(mut self, value: &mut Value) {
        self.spell_at(Plan::ROOT, value, 0);
    }

    fn spell_at(&mut self, id: NodeId, value: &mut Value, level: usize) {
        let Some(node) = self.plan.node(id).filter(|_| self.budget.step(level)) else { return };
        let below = level + 1;
        respell_integer(node, value);
        for all in &node.all_of {
            self.spell_at(*all, value, below);
        }
        self.spell_union(&node.any_of, value, below);
        self.spell_union(&node.one_of, value, below);
        if let Some(condition) = &node.condition {
            let branch = if self.fits(condition.when, value) { condition.then } else { condition.otherwise };
            if let Some(branch) = branch {
                self.spell_at(branch, value, below);
            }
        }
        for (key, dependent) in &node.dependents {
            if value.get(key).is_some() {
                self.spell_at(*dependent, value, below);
            }
        }
        match value {
            Value::Object(members) => {
                for (key, member) in members.iter_mut().filter(|(_, member)| may_hold_number(member)) {
                    for id in self.plan.members(node, key) {
                        self.spell_at(id, member, below);
                    }
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter_mut().enumerate().filter(|(_, item)| may_hold_number(item))
                {
                    if let Some(id) = Plan::item(node, position) {
                        self.spell_at(id, item, below);
                    }
                }
            }
            _ => {}
        }
    }

    /// Leaves the value alone when some branch that takes it has nothing to write differently.
    fn spell_union(&mut self, branches: &[NodeId], value: &mut Value, level: usize) {
        let mut first = None;
        for branch in branches {
            if self.fits(*branch, value) {
                let mut spelled = value.clone();
                self.spell_at(*branch, &mut spelled, level);
                if spelled == *value {
                    return;
                }
                first.get_or_insert(spelled);
            }
        }
        if let Some(spelled) = first {
            *value = spelled;
        }
    }

    fn fitting(&mut self, branches: &[NodeId], value: &Value) -> usize {
        branches.iter().filter(|branch| self.fits(**branch, value)).count()
    }

    /// The validator's word. When the budget is spent nothing fits, so that nothing more is accepted.
    fn fits(&mut self, id: NodeId, value: &Value) -> bool {
        self.budget.fits(id, value).unwrap_or(false)
    }
}

/// Writes an integral number as an integer where the node wants one: by its type, or by the spelling it lists.
fn respell_integer(node: &Node, value: &mut Value) {
    let Value::Number(number) = value else { return };
    if !number.is_f64() {
        return;
    }
    let is_integer_type = node.types.contains(&Kind::Integer) && !node.types.contains(&Kind::Number);
    let is_listed = || node.listed.iter().any(|listed| !listed.is_f64() && is_number(listed, number));
    if is_integer_type || is_listed() {
        if let Some(integer) = as_integer(number) {
            *number = integer;
        }
    }
}

fn is_number(value: &Value, number: &serde_json::Number) -> bool {
    matches!(value, Value::Number(other) if same_number(other, number))
}

fn is_same(one: &Value, other: &Value) -> bool {
    match other {
        Value::Number(number) => is_number(one, number),
        _ => one == other,
    }
}

/// Whether `value` is another spelling of a listed value.
fn says_the_same(value: &Value, listed: &Value) -> bool {
    let kind = match listed {
        Value::Null => return false,
        Value::Bool(_) => Kind::Boolean,
        Value::Number(_) => Kind::Number,
        Value::String(_) => Kind::String,
        Value::Array(_) | Value::Object(_) => {
            return value.as_str().and_then(parse_container).is_some_and(|container| container == *listed);
        }
    };
    convert(value, kind).is_some_and(|converted| is_same(&converted, listed))
}

fn may_hold_number(value: &Value) -> bool {
    matches!(value, Value::Number(_) | Value::Array(_) | Value::Object(_))
}
