//! Why arguments do not fit, told so that a model can correct them.
//!
//! The walk goes along the schema's nodes like the coercion and stops wherever the value fits. In a union it
//! follows the branch that the value was meant for, where one can be told; else it tells all choices in one
//! line.

use std::collections::{HashMap, HashSet};

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use super::budget::Budget;
use super::describe::{self, Choice, allowed, allowed_keys, choices, count, excerpt, phrase};
use super::error::{InvalidArguments, Problem};
use super::plan::{Node, NodeId, OPAQUE, Plan};

/// The problems of a value that does not fit. Never empty; when one more is found than will be told, the search
/// stops.
pub(super) fn problems(plan: &Plan, value: &Value) -> Vec<Problem> {
    let mut explainer = Explainer::new(Budget::new(plan));
    explainer.explain(Plan::ROOT, value, 0);
    if explainer.problems.is_empty() {
        explainer.add("a value that fits the schema", describe::value(value));
    }
    explainer.problems
}

struct Explainer<'p> {
    plan: &'p Plan,
    budget: Budget<'p>,
    /// The keys and positions that lead to the value at hand.
    path: Vec<String>,
    /// What has been explained: the same subschema says the same of the same value (known by its address, which
    /// does not change while it is borrowed). With the number of problems found.
    seen: HashMap<(NodeId, usize), usize>,
    /// How many problems were found, the ones found before included.
    found: usize,
    problems: Vec<Problem>,
}

impl<'p> Explainer<'p> {
    fn new(budget: Budget<'p>) -> Self {
        let plan = budget.plan();
        Self { plan, budget, path: Vec::new(), seen: HashMap::new(), found: 0, problems: Vec::new() }
    }

    fn explain(&mut self, id: NodeId, value: &Value, level: usize) {
        let Some(node) = self.plan.node(id).filter(|_| self.budget.step(level)) else { return };
        if self.problems.len() > InvalidArguments::MOST_PROBLEMS {
            return;
        }
        let is_cheap = self.plan.is_cheap(id);
        if is_cheap && self.fits(id, value) {
            return;
        }
        let place = (id, std::ptr::from_ref(value) as usize);
        if let Some(found) = self.seen.get(&place) {
            self.found += found;
            return;
        }
        let before = self.found;
        self.explain_itself(node, value);
        for all in &node.all_of {
            self.explain(*all, value, level + 1);
        }
        self.explain_any_of(&node.any_of, value, level + 1);
        self.explain_one_of(&node.one_of, value, level + 1);
        if let Some(condition) = &node.condition {
            let branch = if self.fits(condition.when, value) { condition.then } else { condition.otherwise };
            if let Some(branch) = branch {
                self.explain(branch, value, level + 1);
            }
        }
        for (key, dependent) in &node.dependents {
            if value.get(key).is_some() {
                self.explain(*dependent, value, level + 1);
            }
        }
        self.explain_parts(node, value, level + 1);
        let is_refused = is_cheap || (node.is_opaque && !self.fits(id, value));
        if self.found == before && is_refused && !self.budget.is_spent() {
            self.explain_rest(node, value);
        }
        self.seen.insert(place, self.found - before);
    }

    /// The members of an object and the items of an array.
    fn explain_parts(&mut self, node: &Node, value: &Value, level: usize) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    self.path.push(describe::key(key).into_owned());
                    for id in self.plan.members(node, key) {
                        self.explain(id, member, level);
                    }
                    self.path.pop();
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter().enumerate() {
                    self.path.push(position.to_string());
                    if let Some(id) = Plan::item(node, position) {
                        self.explain(id, item, level);
                    }
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn explain_any_of(&mut self, branches: &[NodeId], value: &Value, level: usize) {
        if !branches.is_empty() && self.fitting(branches, value) == 0 {
            self.explain_union(branches, value, level);
        }
    }

    fn explain_one_of(&mut self, branches: &[NodeId], value: &Value, level: usize) {
        match self.fitting(branches, value) {
            0 if !branches.is_empty() => self.explain_union(branches, value, level),
            0 | 1 => {}
            fitting => {
                let got = format!("one that fits {fitting} of them, {}", describe::value(value));
                self.add("a value that fits exactly one of the schema's alternatives", got);
            }
        }
    }

    /// A union none of whose branches fits.
    fn explain_union(&mut self, branches: &[NodeId], value: &Value, level: usize) {
        // Each branch is looked at together with all that it refers to, for several questions.
        self.budget.pay(branches.len().saturating_mul(64));
        let mut meant: Vec<NodeId> =
            branches.iter().copied().filter(|id| self.takes_kind(*id, value)).collect();
        if let (Value::Object(members), Some(tag)) = (value, self.tag(&meant)) {
            if !self.follow_tag(tag, members, &mut meant) {
                return;
            }
        }
        match (meant.as_slice(), value) {
            ([only], _) if !self.is_list(*only) => self.explain(*only, value, level),
            ([_, _, ..], Value::Object(members)) => match self.closest(&meant, members) {
                Some(closest) => self.explain(closest, value, level),
                None => self.add_choices(branches, value),
            },
            ([first, _, ..], Value::Array(_)) => self.explain(*first, value, level),
            ([_, _, ..], _) if !meant.iter().all(|id| self.is_list(*id)) => {
                self.explain_each(&meant, value, level);
            }
            _ => self.add_choices(branches, value),
        }
    }

    /// Several branches that differ in what they ask of a scalar: what each asks, in one line.
    fn explain_each(&mut self, branches: &[NodeId], value: &Value, level: usize) {
        let mut expected: Vec<String> = Vec::new();
        for branch in branches {
            let mut alone = Explainer::new(std::mem::replace(&mut self.budget, Budget::new(self.plan)));
            alone.explain(*branch, value, level);
            self.budget = alone.budget;
            let problems = alone.problems.into_iter().map(|problem| problem.expected);
            let all = problems.collect::<Vec<_>>().join(" and ");
            if !all.is_empty() && !expected.contains(&all) {
                expected.push(all);
            }
        }
        let more = expected.len().saturating_sub(4);
        expected.truncate(4);
        if more > 0 {
            expected.push(format!("one of {more} further alternatives"));
        }
        self.add(expected.join(", or "), describe::value(value));
    }

    fn add_choices(&mut self, branches: &[NodeId], value: &Value) {
        let mut all: Vec<Choice<'_>> = Vec::new();
        for choice in branches.iter().flat_map(|branch| choices(self.plan, *branch)) {
            if !all.contains(&choice) {
                all.push(choice);
            }
        }
        self.add(phrase(&all), describe::value(value));
    }

    /// The key that tells the branches of a union apart, and the values that it can have: each branch lists
    /// some for it.
    fn tag(&self, branches: &[NodeId]) -> Option<(&'p str, Vec<&'p Value>)> {
        let [first, _, ..] = branches else { return None };
        let keys = self.conjunction(*first).into_iter().flat_map(|node| node.properties.keys());
        keys.map(String::as_str).find_map(|key| {
            let mut values = Vec::new();
            for branch in branches {
                let listed = self.listed_under(*branch, key);
                if listed.is_empty() {
                    return None;
                }
                values.extend(listed.into_iter().filter(|value| !values.contains(value)).collect::<Vec<_>>());
            }
            Some((key, values))
        })
    }

    /// Keeps the branches that the tag names. `false` when it names none, which has then been told.
    fn follow_tag(
        &mut self,
        (key, values): (&'p str, Vec<&'p Value>),
        members: &Map<String, Value>,
        meant: &mut Vec<NodeId>,
    ) -> bool {
        let named = members.get(key).filter(|named| values.contains(named));
        if let Some(named) = named {
            meant.retain(|branch| self.listed_under(*branch, key).contains(&named));
            return true;
        }
        let got = members.get(key).map_or_else(missing, describe::value);
        self.add_below(key, allowed(values), got);
        false
    }

    /// The values that a branch lists for a key.
    fn listed_under(&self, branch: NodeId, key: &str) -> Vec<&'p Value> {
        let nodes = self.conjunction(branch);
        let children = nodes.into_iter().filter_map(|node| node.properties.get(key));
        let nodes = children.flat_map(|child| self.conjunction(*child));
        nodes.flat_map(|node| &node.listed).collect()
    }

    /// The branch that an object has most in common with. `None` when it has nothing in common with any.
    fn closest(&mut self, branches: &[NodeId], members: &Map<String, Value>) -> Option<NodeId> {
        let mut best = None;
        let mut best_score = (0, 0, usize::MIN);
        for branch in branches {
            let mut required_keys = 0;
            let mut fitting_members = 0;
            let mut present = 0;
            for node in self.conjunction(*branch) {
                required_keys += node.required.len();
                present += node.required.iter().filter(|key| members.contains_key(*key)).count();
                for (key, child) in &node.properties {
                    let fits = members.get(key).is_some_and(|member| self.fits(*child, member));
                    fitting_members += usize::from(fits);
                }
            }
            let complete = usize::MAX - (required_keys - present);
            let score = (present, fitting_members, complete);
            if present + fitting_members > 0 && score > best_score {
                best = Some(*branch);
                best_score = score;
            }
        }
        best
    }

    /// Whether a branch speaks about values of this kind at all.
    fn takes_kind(&self, branch: NodeId, value: &Value) -> bool {
        self.conjunction(branch).into_iter().all(|node| {
            let by_type = node.types.is_empty() || node.types.iter().any(|kind| kind.holds(value));
            let same_kind = |listed: &Value| std::mem::discriminant(listed) == std::mem::discriminant(value);
            by_type && (node.listed.is_empty() || node.listed.iter().any(same_kind))
        })
    }

    /// Whether a branch does no more than list values.
    fn is_list(&self, branch: NodeId) -> bool {
        self.conjunction(branch).into_iter().any(|node| !node.listed.is_empty())
    }

    /// A node with all those that must take the same value with it.
    fn conjunction(&self, id: NodeId) -> Vec<&'p Node> {
        /// More say nothing more to a reader.
        const MOST: usize = 32;
        let mut ids = vec![id];
        let mut next = 0;
        while let Some(node) = ids.get(next).and_then(|id| self.plan.node(*id)) {
            for all in &node.all_of {
                if ids.len() < MOST && !ids.contains(all) {
                    ids.push(*all);
                }
            }
            next += 1;
        }
        ids.into_iter().filter_map(|id| self.plan.node(id)).collect()
    }

    /// What the node's own keywords say.
    fn explain_itself(&mut self, node: &Node, value: &Value) {
        let Some(assertions) = self.plan.assertions(node) else { return };
        for error in assertions.iter_errors(value) {
            match error.kind() {
                ValidationErrorKind::Required { property } => {
                    let key = property.as_str().unwrap_or_default();
                    let wanted = self.plan.members(node, key).into_iter().next();
                    let wanted = wanted.map(|id| choices(self.plan, id)).unwrap_or_default();
                    let expected = if wanted.is_empty() { "a value".to_owned() } else { phrase(&wanted) };
                    self.add_below(key, expected, missing());
                }
                ValidationErrorKind::AdditionalProperties { unexpected } => {
                    let allowed = allowed_keys(node.properties.keys().map(String::as_str));
                    for key in unexpected {
                        self.add_below(key, allowed.clone(), "an unknown key".to_owned());
                    }
                }
                ValidationErrorKind::Type { .. } => {
                    self.add(describe::kinds(&node.types), describe::value(value));
                }
                ValidationErrorKind::MultipleOf { .. } => {
                    let step = self.plan.json(node).and_then(|json| json.get("multipleOf"));
                    let step = step.map(ToString::to_string).unwrap_or_default();
                    self.add(format!("a multiple of {step}"), describe::value(value));
                }
                _ => self.add(asserted(&error), describe::value(value)),
            }
        }
    }

    /// What is left when neither the node's own keywords nor those it hands the value to have refused it.
    fn explain_rest(&mut self, node: &Node, value: &Value) {
        let json = self.plan.json(node);
        let closed = json.is_some_and(|json| json.contains_key("unevaluatedProperties"));
        if let (Value::Object(members), true) = (value, closed) {
            let known = self.known_keys(node);
            let unknown: Vec<&String> = members.keys().filter(|key| !known.contains(&key.as_str())).collect();
            let allowed = allowed_keys(known.iter().copied());
            for key in &unknown {
                self.add_below(key, allowed.clone(), "an unknown key".to_owned());
            }
            if !unknown.is_empty() {
                return;
            }
        }
        let silent =
            OPAQUE.into_iter().filter(|keyword| json.is_some_and(|json| json.contains_key(*keyword)));
        let silent: Vec<String> = silent.map(|keyword| format!("`{keyword}`")).collect();
        let expected = match (json, silent.is_empty()) {
            (None, _) => "nothing here".to_owned(),
            (_, true) => "a value that fits the schema".to_owned(),
            (_, false) => format!("a value that fits {} of the schema", silent.join(", ")),
        };
        self.add(expected, describe::value(value));
    }

    /// All keys that a node and whatever looks at the same value declare.
    fn known_keys(&self, node: &'p Node) -> Vec<&'p str> {
        let mut ids = node.same_value();
        let mut keys: Vec<&str> = node.properties.keys().map(String::as_str).collect();
        let mut seen = HashSet::new();
        while let Some(id) = ids.pop() {
            if let Some(node) = self.plan.node(id).filter(|_| seen.insert(id)) {
                keys.extend(node.properties.keys().map(String::as_str));
                ids.extend(node.same_value());
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn add(&mut self, expected: impl AsRef<str>, got: String) {
        let path = if self.path.is_empty() { "root".to_owned() } else { describe::path(&self.path) };
        let problem = Problem { path, expected: describe::expected(expected.as_ref()), got };
        self.found += 1;
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn add_below(&mut self, key: &str, expected: String, got: String) {
        self.path.push(describe::key(key).into_owned());
        self.add(expected, got);
        self.path.pop();
    }

    fn fitting(&mut self, branches: &[NodeId], value: &Value) -> usize {
        branches.iter().filter(|branch| self.fits(**branch, value)).count()
    }

    /// The validator's word. When the budget is spent everything fits, so that nothing more is told.
    fn fits(&mut self, id: NodeId, value: &Value) -> bool {
        self.budget.fits(id, value).unwrap_or(true)
    }
}

fn missing() -> String {
    "nothing (the key is missing)".to_owned()
}

/// What a keyword about the value itself asks for.
fn asserted(error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Kind;
    let characters = |number| count(number, "character", "characters");
    let items = |number| count(number, "item", "items");
    let keys = |number| count(number, "key", "keys");
    match error.kind() {
        Kind::Enum { options } => allowed(options.as_array().into_iter().flatten().collect()),
        Kind::Constant { expected_value } => allowed(vec![expected_value.as_ref()]),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MinLength { limit } => format!("a string of at least {}", characters(*limit)),
        Kind::MaxLength { limit } => format!("a string of at most {}", characters(*limit)),
        Kind::Pattern { pattern } => format!("a string that matches the pattern `{}`", excerpt(pattern)),
        Kind::Format { format } => format!("a string in the format `{}`", excerpt(format)),
        Kind::MinItems { limit } => format!("an array of at least {}", items(*limit)),
        Kind::MaxItems { limit } => format!("an array of at most {}", items(*limit)),
        Kind::UniqueItems => "an array whose items all differ".to_owned(),
        Kind::MinProperties { limit } => format!("an object of at least {}", keys(*limit)),
        Kind::MaxProperties { limit } => format!("an object of at most {}", keys(*limit)),
        kind => format!("a value that fits `{}` of the schema", kind.keyword()),
    }
}
