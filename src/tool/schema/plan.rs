//! A schema as a graph that coercion and explanation can walk: one node for each subschema that a value can
//! reach.
//!
//! The validator says whether a value fits, and nothing else is asked of it. Which subschema speaks about which
//! part of a value is read here, once, when the schema is made.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use jsonschema::{Draft, Registry, Validator};
use serde_json::{Map, Value, json};

use super::descent::deepest_arguments;
use super::error::SchemaError;
use super::reference::{References, as_fragment, child};
use super::scalar::Kind;

/// Keywords that coercion and explanation do not look into.
pub(super) const OPAQUE: [&str; 5] =
    ["not", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems"];

/// Which node of a [`Plan`].
pub(super) type NodeId = usize;

/// A schema, taken apart.
pub(super) struct Plan {
    document: Arc<Value>,
    draft: Draft,
    /// The first is the whole schema.
    nodes: Vec<Node>,
    /// How many levels of arrays and objects arguments may have.
    pub(super) deepest_arguments: usize,
    /// The document under the name that validators of single nodes refer to.
    registry: OnceLock<Option<Registry<'static>>>,
}

/// One subschema: what it says about a value itself, and which others it hands the value or parts of it to.
#[derive(Default)]
pub(super) struct Node {
    /// Where it stands in the document.
    pub(super) pointer: String,
    /// What decides whether a value fits.
    verdict: Verdict,
    /// `type`, in the schema's order. Empty: any.
    pub(super) types: Vec<Kind>,
    /// The values of `enum` and `const`.
    pub(super) listed: Vec<Value>,
    /// The keys that an object must have.
    pub(super) required: Vec<String>,
    /// Subschemas that must take the value too: `allOf` and the targets of references.
    pub(super) all_of: Vec<NodeId>,
    pub(super) any_of: Vec<NodeId>,
    pub(super) one_of: Vec<NodeId>,
    not: Option<NodeId>,
    pub(super) condition: Option<Condition>,
    /// `dependentSchemas`: must take the value when it has the key.
    pub(super) dependents: Vec<(String, NodeId)>,
    pub(super) properties: BTreeMap<String, NodeId>,
    pub(super) patterns: Vec<(KeyPattern, NodeId)>,
    /// For the keys that neither `properties` nor `patternProperties` speaks about.
    pub(super) additional: Option<NodeId>,
    /// The first items of an array, one by one.
    pub(super) prefix: Vec<NodeId>,
    /// All further items.
    pub(super) rest: Option<NodeId>,
    /// The node can refuse a value by words that neither its own assertions nor other nodes repeat.
    pub(super) is_opaque: bool,
    /// The keywords that speak about the value itself, compiled when a problem is first explained.
    assertions: OnceLock<Option<Validator>>,
}

/// `if`, `then`, `else`.
pub(super) struct Condition {
    pub(super) when: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

/// A key of `patternProperties`.
pub(super) struct KeyPattern {
    pattern: String,
    validator: OnceLock<Option<Validator>>,
}

/// What decides whether a value fits a node. Most nodes of real schemas say no more than a type, and need no
/// validator.
#[derive(Default)]
enum Verdict {
    Always,
    Never,
    /// `types` alone.
    Types,
    /// The target of a reference alone.
    Same(NodeId),
    /// A validator, compiled when it is first asked for: only values that do not fit lead here.
    Validator(OnceLock<Option<Validator>>),
    /// Not read yet.
    #[default]
    Unread,
}

impl Plan {
    pub(super) const ROOT: NodeId = 0;

    /// Takes a schema apart. Only what a value can reach from its root becomes a node.
    ///
    /// Fails for a schema that hands a value on without end, or too often.
    pub(super) fn read(document: Arc<Value>, draft: Draft) -> Result<Plan, SchemaError> {
        let references = References::of(&document, draft.id_keyword());
        let mut reader =
            Reader { document: &document, draft, references, ids: HashMap::new(), nodes: Vec::new() };
        reader.node_at(String::new());
        let mut next = 0;
        while let Some(node) = reader.nodes.get(next) {
            let node = reader.read(node.pointer.clone());
            if let Some(unread) = reader.nodes.get_mut(next) {
                *unread = node;
            }
            next += 1;
        }
        let nodes = reader.nodes;
        let mut plan = Plan { document, draft, nodes, deepest_arguments: 0, registry: OnceLock::new() };
        plan.deepest_arguments = deepest_arguments(&plan)?;
        Ok(plan)
    }

    /// The plan with the validator of the whole schema.
    pub(super) fn with_validator(mut self, validator: Validator) -> Plan {
        if let Some(Node { verdict: verdict @ (Verdict::Validator(_) | Verdict::Same(_)), .. }) =
            self.nodes.first_mut()
        {
            *verdict = Verdict::Validator(OnceLock::from(Some(validator)));
        }
        self
    }

    /// How many nodes there are: their ids are the numbers below.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// The JSON of a node that is an object. Boolean schemas have none.
    pub(super) fn json(&self, node: &Node) -> Option<&Map<String, Value>> {
        self.document.pointer(&node.pointer).and_then(Value::as_object)
    }

    /// Whether a value fits the subschema `id`, in the validator's judgement.
    pub(super) fn fits(&self, id: NodeId, value: &Value) -> bool {
        self.judge(id).is_some_and(|node| match &node.verdict {
            Verdict::Always => true,
            Verdict::Types => node.types.iter().any(|kind| kind.holds(value)),
            Verdict::Validator(validator) => validator
                .get_or_init(|| self.compile_node(node))
                .as_ref()
                .is_some_and(|validator| validator.is_valid(value)),
            Verdict::Never | Verdict::Same(_) | Verdict::Unread => false,
        })
    }

    /// How many subschemas must be compiled before [`Plan::fits`] can answer for `id`: none the second time.
    pub(super) fn uncompiled(&self, id: NodeId) -> usize {
        if self.is_compiled(id) { 0 } else { self.reachable(id, usize::MAX) }
    }

    /// Whether [`Plan::fits`] answers for `id` without compiling much. A walk asks only there: where much would
    /// have to be compiled, most of it speaks about parts of the value that the walk comes to anyway.
    pub(super) fn is_cheap(&self, id: NodeId) -> bool {
        const FEW: usize = 32;
        self.is_compiled(id) || self.reachable(id, FEW + 1) <= FEW
    }

    fn is_compiled(&self, id: NodeId) -> bool {
        match self.judge(id).map(|node| &node.verdict) {
            Some(Verdict::Validator(validator)) => validator.get().is_some(),
            _ => true,
        }
    }

    /// The node that decides for `id`. References do not come back to themselves, which was checked when the
    /// schema was read.
    fn judge(&self, mut id: NodeId) -> Option<&Node> {
        loop {
            match self.node(id) {
                Some(Node { verdict: Verdict::Same(target), .. }) => id = *target,
                node => return node,
            }
        }
    }

    /// How many nodes a value and its parts can reach from `id`, counted up to `limit`.
    fn reachable(&self, id: NodeId, limit: usize) -> usize {
        let mut seen = HashSet::from([id]);
        let mut rest = vec![id];
        while let Some(node) = rest.pop().and_then(|id| self.node(id)) {
            rest.extend(node.same_value().into_iter().chain(node.parts()).filter(|id| seen.insert(*id)));
            if seen.len() >= limit {
                return limit;
            }
        }
        seen.len()
    }

    /// The subschemas that speak about the member `key` of an object.
    pub(super) fn members(&self, node: &Node, key: &str) -> Vec<NodeId> {
        let declared = node.properties.get(key).copied();
        let matching =
            node.patterns.iter().filter(|(pattern, _)| pattern.matches(key, self.draft)).map(|(_, id)| *id);
        let mut ids: Vec<NodeId> = declared.into_iter().chain(matching).collect();
        if ids.is_empty() {
            ids.extend(node.additional);
        }
        ids
    }

    /// The subschema that speaks about the item at `position` of an array.
    pub(super) fn item(node: &Node, position: usize) -> Option<NodeId> {
        node.prefix.get(position).copied().or(node.rest)
    }

    /// What a node alone asserts about a value, without what it hands to other nodes. Explaining asks this
    /// validator for its errors. The errors of a whole schema are never collected: for unions inside recursion
    /// the validator would collect them for each branch on each level.
    pub(super) fn assertions<'n>(&self, node: &'n Node) -> Option<&'n Validator> {
        let compile = || {
            let own = own_assertions(self.json(node)?, self.draft);
            jsonschema::options().with_draft(self.draft).offline().build(&own).ok()
        };
        node.assertions.get_or_init(compile).as_ref()
    }

    fn compile_node(&self, node: &Node) -> Option<Validator> {
        const NAME: &str = "turnstate:schema";
        let registry = self.registry.get_or_init(|| {
            let document = self.draft.create_resource(Value::clone(&self.document));
            Registry::new().add(NAME, document).ok()?.prepare().ok()
        });
        let reference = format!("{NAME}{}", as_fragment(&node.pointer));
        let options =
            jsonschema::options().with_draft(self.draft).with_registry(registry.as_ref()?).offline();
        options.build(&json!({ "$ref": reference })).ok()
    }
}

impl Node {
    /// All subschemas that look at the same value as this one.
    pub(super) fn same_value(&self) -> Vec<NodeId> {
        let condition = self.condition.iter();
        let condition = condition.flat_map(|c| [Some(c.when), c.then, c.otherwise]).flatten();
        let unions = self.any_of.iter().chain(&self.one_of).chain(&self.all_of).copied();
        unions.chain(self.not).chain(condition).chain(self.dependents.iter().map(|(_, id)| *id)).collect()
    }

    /// All subschemas that look at the members and items of the value.
    pub(super) fn parts(&self) -> impl Iterator<Item = NodeId> {
        let members =
            self.properties.values().chain(self.patterns.iter().map(|(_, id)| id)).chain(&self.additional);
        members.chain(&self.prefix).chain(&self.rest).copied()
    }
}

impl KeyPattern {
    fn matches(&self, key: &str, draft: Draft) -> bool {
        let compile = || {
            let pattern = json!({ "pattern": self.pattern });
            jsonschema::options().with_draft(draft).offline().build(&pattern).ok()
        };
        let validator = self.validator.get_or_init(compile);
        validator.as_ref().is_some_and(|validator| validator.is_valid(&Value::from(key)))
    }
}

/// Reads nodes from JSON. Children are numbered as they are met and read later, so that no depth of a schema
/// and no circle of references recurses.
struct Reader<'d> {
    document: &'d Value,
    draft: Draft,
    references: References<'d>,
    ids: HashMap<String, NodeId>,
    nodes: Vec<Node>,
}

impl Reader<'_> {
    fn node_at(&mut self, pointer: String) -> NodeId {
        if let Some(id) = self.ids.get(&pointer) {
            return *id;
        }
        let id = self.nodes.len();
        self.nodes.push(Node { pointer: pointer.clone(), ..Node::default() });
        self.ids.insert(pointer, id);
        id
    }

    fn read(&mut self, pointer: String) -> Node {
        let mut node = Node { pointer, ..Node::default() };
        match self.document.pointer(&node.pointer) {
            Some(Value::Object(json)) => self.read_object(json, &mut node),
            Some(Value::Bool(true)) => node.verdict = Verdict::Always,
            _ => node.verdict = Verdict::Never,
        }
        node
    }

    fn read_object(&mut self, json: &Map<String, Value>, node: &mut Node) {
        self.read_references(json, node);
        let old = self.draft <= Draft::Draft7;
        if json.contains_key("$ref")
            && (old || json.keys().all(|keyword| keyword == "$ref" || is_annotation(keyword)))
        {
            // Up to draft 7 everything beside a reference is a comment.
            node.verdict = match node.all_of.as_slice() {
                [target] => Verdict::Same(*target),
                _ => Verdict::Validator(OnceLock::new()),
            };
            return;
        }
        node.types = types(json.get("type"));
        node.listed.extend(json.get("enum").and_then(Value::as_array).into_iter().flatten().cloned());
        node.listed.extend(self.word(json, "const").cloned());
        node.all_of.extend(self.list(json, node, "allOf"));
        node.any_of = self.list(json, node, "anyOf");
        node.one_of = self.list(json, node, "oneOf");
        node.not = self.one(json, node, "not");
        node.condition = self.one(json, node, "if").map(|when| Condition {
            when,
            then: self.one(json, node, "then"),
            otherwise: self.one(json, node, "else"),
        });
        self.read_object_keywords(json, node);
        self.read_array_keywords(json, node);
        node.is_opaque |= OPAQUE.into_iter().any(|keyword| json.contains_key(keyword));
        node.verdict = self.verdict(json, node);
    }

    fn read_references(&mut self, json: &Map<String, Value>, node: &mut Node) {
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let reference = self.word(json, keyword).and_then(Value::as_str);
            let target = reference.and_then(|reference| self.references.resolve(reference, &node.pointer));
            match target {
                Some(target) => node.all_of.push(self.node_at(target)),
                None => node.is_opaque |= reference.is_some(),
            }
        }
    }

    fn read_object_keywords(&mut self, json: &Map<String, Value>, node: &mut Node) {
        let required = json.get("required").and_then(Value::as_array).into_iter().flatten();
        node.required = required.filter_map(Value::as_str).map(str::to_owned).collect();
        for keyword in ["dependentSchemas", "dependencies"] {
            node.dependents.extend(self.named(json, node, keyword));
        }
        node.properties = self.named(json, node, "properties").into_iter().collect();
        let patterns = self.named(json, node, "patternProperties").into_iter();
        let patterns = patterns.map(|(pattern, id)| (KeyPattern { pattern, validator: OnceLock::new() }, id));
        node.patterns = patterns.collect();
        // `false` speaks about the object: it closes it.
        let closed = json.get("additionalProperties") == Some(&Value::Bool(false));
        node.additional = if closed { None } else { self.one(json, node, "additionalProperties") };
    }

    fn read_array_keywords(&mut self, json: &Map<String, Value>, node: &mut Node) {
        let (prefix, rest) = match json.get("items") {
            Some(Value::Array(_)) => ("items", "additionalItems"),
            _ => ("prefixItems", "items"),
        };
        node.prefix = self.list(json, node, prefix);
        node.rest = self.one(json, node, rest);
    }

    /// The value of a keyword, if the draft knows it.
    fn word<'j>(&self, json: &'j Map<String, Value>, keyword: &str) -> Option<&'j Value> {
        json.get(keyword).filter(|_| self.draft.is_known_keyword(keyword))
    }

    fn one(&mut self, json: &Map<String, Value>, node: &Node, keyword: &str) -> Option<NodeId> {
        let subschema = self.word(json, keyword)?;
        (subschema.is_object() || subschema.is_boolean()).then(|| self.node_at(child(&node.pointer, keyword)))
    }

    fn list(&mut self, json: &Map<String, Value>, node: &Node, keyword: &str) -> Vec<NodeId> {
        let subschemas = self.word(json, keyword).and_then(Value::as_array).map_or(0, Vec::len);
        let pointer = child(&node.pointer, keyword);
        (0..subschemas).map(|position| self.node_at(child(&pointer, &position.to_string()))).collect()
    }

    fn named(&mut self, json: &Map<String, Value>, node: &Node, keyword: &str) -> Vec<(String, NodeId)> {
        let pointer = child(&node.pointer, keyword);
        let subschemas = self.word(json, keyword).and_then(Value::as_object).into_iter().flatten();
        // `dependencies` maps some keys to lists of further keys, which are no subschemas.
        let subschemas = subschemas.filter(|(_, subschema)| !subschema.is_array());
        subschemas.map(|(key, _)| (key.clone(), self.node_at(child(&pointer, key)))).collect()
    }

    fn verdict(&self, json: &Map<String, Value>, node: &Node) -> Verdict {
        // In draft 4 `1.0` is no integer, which `Kind` does not know.
        let known = self.draft != Draft::Draft4 || !node.types.contains(&Kind::Integer);
        if !known || !json.keys().all(|keyword| keyword == "type" || is_annotation(keyword)) {
            Verdict::Validator(OnceLock::new())
        } else if node.types.is_empty() {
            Verdict::Always
        } else {
            Verdict::Types
        }
    }
}

fn types(json: Option<&Value>) -> Vec<Kind> {
    match json {
        Some(Value::String(name)) => Kind::named(name).into_iter().collect(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).filter_map(Kind::named).collect(),
        _ => Vec::new(),
    }
}

fn is_annotation(keyword: &str) -> bool {
    matches!(keyword, "title" | "description" | "default" | "examples" | "deprecated" | "$comment")
}

/// A schema of the keywords that speak about a value itself. What closes an object needs to know which members
/// are spoken for, so those stay, with schemas that take everything.
fn own_assertions(json: &Map<String, Value>, draft: Draft) -> Value {
    let mut own = Map::new();
    if draft <= Draft::Draft7 && json.contains_key("$ref") {
        return Value::Object(own);
    }
    for (keyword, value) in json {
        let kept = match keyword.as_str() {
            "type" | "enum" | "const" | "format" | "pattern" | "required" | "dependentRequired" => {
                value.clone()
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => value.clone(),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "uniqueItems" => value.clone(),
            "minProperties" | "maxProperties" | "contentEncoding" | "contentMediaType" => value.clone(),
            "additionalProperties" if value == &Value::Bool(false) => value.clone(),
            "properties" | "patternProperties" => emptied(value),
            "dependencies" => lists_of(value),
            _ => continue,
        };
        own.insert(keyword.clone(), kept);
    }
    Value::Object(own)
}

/// Named subschemas, replaced by ones that take everything.
fn emptied(subschemas: &Value) -> Value {
    subschemas.as_object().into_iter().flatten().map(|(key, _)| (key.clone(), json!({}))).collect()
}

/// The entries of `dependencies` that list further keys.
fn lists_of(dependencies: &Value) -> Value {
    let entries = dependencies.as_object().into_iter().flatten();
    entries.filter(|(_, entry)| entry.is_array()).map(|(key, entry)| (key.clone(), entry.clone())).collect()
}
