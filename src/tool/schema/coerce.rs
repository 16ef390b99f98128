//! Coercion: a value that does not fit, brought into the representation that its schema wants.
//!
//! The walk goes along the schema's nodes, and at each of them begins with the validator's word: what fits is left
//! alone. The steps are the table in the documentation of the [module above](super).

use serde_json::{Map, Value};

use super::plan::{Node, NodeId, Plan};
use super::scalar::{Kind, as_integer, convert, parse_container, same_number};

/// How many subschemas may follow each other into one another and into the data. Every level is a few stack frames; data
/// of the usual depth behind the usual references stays far below.
const MAX_LEVELS: usize = 256;

/// How many values a coercion may look at before it gives up: enough for a megabyte of arguments with unions on several
/// levels, spent in about a second by a schema whose unions branch without end.
const FUEL: usize = 4_000_000;

/// One coercion.
pub(super) struct Coercer<'p> {
    plan: &'p Plan,
    /// How many values may still be looked at.
    fuel: usize,
}

impl<'p> Coercer<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self { plan, fuel: FUEL }
    }

    /// Coerces a value as far as the schema's words on it can be followed. Whether it then fits is for the validator to say.
    pub(super) fn coerce(mut self, value: &mut Value) {
        self.coerce_at(Plan::ROOT, value, 0);
    }

    fn coerce_at(&mut self, id: NodeId, value: &mut Value, level: usize) {
        let Some(node) = self.plan.node(id) else { return };
        if level > MAX_LEVELS || self.fits(id, value) || self.fuel == 0 {
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
        respell_integer(self.plan, node, value);
        if !self.plan.listed_values(node).any(|listed| is_same(listed, value)) {
            if let Some(listed) = self.plan.listed_values(node).find(|listed| says_the_same(value, listed)) {
                *value = listed.clone();
            }
        }
        if node.types.is_empty() || node.types.iter().any(|kind| kind.holds(value)) {
            return;
        }
        let candidates: Vec<Value> = node.types.iter().flat_map(|kind| candidates(value, *kind)).collect();
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
        // None fits, and the arguments will be refused. A scalar of the right type lets the error speak of what is
        // wrong with the value instead of its spelling.
        if let Some(scalar) =
            candidates.into_iter().find(|candidate| !candidate.is_array() && !candidate.is_object())
        {
            *value = scalar;
        }
    }

    /// Takes the first branch that the value can be coerced to, when the number of branches that take it as it is will not do.
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

    /// Whether `null` under `key` only says that there is nothing. A key that is not declared is information by itself.
    fn counts_as_absent(&mut self, node: &Node, key: &str, ids: &[NodeId]) -> bool {
        node.properties.contains_key(key)
            && !self.plan.required(node).any(|required| required == key)
            && !ids.iter().all(|id| self.fits(*id, &Value::Null))
    }

    /// Writes integral numbers as integers wherever a value that fits has them in the place of an integer.
    pub(super) fn spell_integers(mut self, value: &mut Value) {
        self.spell_at(Plan::ROOT, value, 0);
    }

    fn spell_at(&mut self, id: NodeId, value: &mut Value, level: usize) {
        let Some(node) = self.plan.node(id) else { return };
        self.fuel = self.fuel.saturating_sub(1);
        if level > MAX_LEVELS || self.fuel == 0 {
            return;
        }
        let below = level + 1;
        respell_integer(self.plan, node, value);
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

    /// The validator's word, as long as there is fuel. Without, nothing fits, so that no step is taken any more.
    fn fits(&mut self, id: NodeId, value: &Value) -> bool {
        self.fuel = self.fuel.saturating_sub(cost(self.plan, id, value));
        self.fuel > 0 && self.plan.fits(id, value)
    }
}

/// What `value` may become where `wanted` is the type, best first.
fn candidates(value: &Value, wanted: Kind) -> Vec<Value> {
    let container = || value.as_str().and_then(parse_container);
    match wanted {
        Kind::Object => container().filter(Value::is_object).into_iter().collect(),
        Kind::Array => {
            let wrapped = (!value.is_null()).then(|| Value::Array(vec![value.clone()]));
            container().filter(Value::is_array).into_iter().chain(wrapped).collect()
        }
        scalar => convert(value, scalar).into_iter().collect(),
    }
}

/// Writes an integral number as an integer where the node wants one: by its type, or by the spelling it lists.
fn respell_integer(plan: &Plan, node: &Node, value: &mut Value) {
    let Value::Number(number) = value else { return };
    if !number.is_f64() {
        return;
    }
    let is_integer_type = node.types.contains(&Kind::Integer) && !node.types.contains(&Kind::Number);
    let is_listed = || plan.listed_values(node).any(|listed| !listed.is_f64() && is_number(listed, number));
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

/// How much work it is to ask whether `value` fits `id`: one for each value in it, and what compiling takes.
pub(super) fn cost(plan: &Plan, id: NodeId, value: &Value) -> usize {
    /// Compiling a subschema takes about as long as validating so many values.
    const COMPILE: usize = 64;
    size(value).saturating_add(plan.uncompiled(id).saturating_mul(COMPILE))
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
