//! A schema compiled once, and the check of one call's arguments by it.

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ReferencingError, ValidationError, Validator};
use serde_json::{Map, Value};

use super::Coercion;
use super::coerce::Coercer;
use super::depth::{self, dismantle};
use super::describe::excerpt;
use super::error::{InvalidArguments, SchemaError};
use super::explain;
use super::plan::Plan;
use super::reference::as_fragment;

/// What checking arguments takes.
pub(super) struct Compiled {
    plan: Plan,
    /// `{}` fits: the calls of tools without arguments, or with optional ones only, are decided without the
    /// validator.
    fits_empty: bool,
}

impl Compiled {
    /// Compiles a schema that does not nest too deep.
    pub(super) fn new(document: &Arc<Value>) -> Result<Compiled, SchemaError> {
        let plan = build(document)?;
        let fits_empty = plan.fits(Plan::ROOT, &Value::Object(Map::new()));
        Ok(Compiled { plan, fits_empty })
    }

    /// Coerces, then validates.
    pub(super) fn check(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        coercion: Coercion,
    ) -> Result<Map<String, Value>, InvalidArguments> {
        if arguments.is_empty() && self.fits_empty {
            return Ok(arguments);
        }
        let mut value = Value::Object(arguments);
        let deepest = self.plan.deepest_arguments;
        let mut survey = depth::survey(&value, deepest);
        if survey.too_deep {
            dismantle(value);
            return Err(InvalidArguments::too_deep(tool, deepest));
        }
        let mut fits = self.plan.fits(Plan::ROOT, &value);
        if !fits && coercion == Coercion::Lenient {
            Coercer::new(&self.plan).coerce(&mut value);
            // JSON in a text may have brought new levels and new spellings.
            survey = depth::survey(&value, deepest);
            if survey.too_deep {
                return Err(InvalidArguments::too_deep(tool, deepest));
            }
            fits = self.plan.fits(Plan::ROOT, &value);
        }
        if fits && survey.whole_fraction && coercion == Coercion::Lenient {
            self.spell_integers(&mut value);
        }
        match value {
            Value::Object(arguments) if fits => Ok(arguments),
            value => Err(InvalidArguments::new(tool, explain::problems(&self.plan, &value))),
        }
    }

    /// Writes `120000.0` as `120000` wherever fitting arguments have it in the place of an integer.
    fn spell_integers(&self, value: &mut Value) {
        let mut spelled = value.clone();
        Coercer::new(&self.plan).spell_integers(&mut spelled);
        if self.plan.fits(Plan::ROOT, &spelled) {
            *value = spelled;
        }
    }
}

/// The plan of a schema, read by its own draft, with its validator.
fn build(document: &Arc<Value>) -> Result<Plan, SchemaError> {
    let draft = Draft::default().detect(document);
    if draft == Draft::Unknown {
        let uri = document.get("$schema").and_then(Value::as_str).unwrap_or_default();
        return Err(SchemaError::UnknownDraft { uri: excerpt(uri).into_owned() });
    }
    // The plan comes first: it refuses what would exhaust the stack of a compiler.
    let plan = Plan::read(Arc::clone(document), draft)?;
    let error = match build_as(document, draft) {
        Ok(validator) => return Ok(plan.with_validator(validator)),
        Err(error) => error,
    };
    // Draft 2020-12 renamed the tuple form of `items`, and much of what is generated without `$schema` still
    // uses it.
    if document.get("$schema").is_none() && lists_items(document) {
        if let Ok(validator) = build_as(document, Draft::Draft201909) {
            let plan = Plan::read(Arc::clone(document), Draft::Draft201909)?;
            return Ok(plan.with_validator(validator));
        }
    }
    Err(describe(&error))
}

/// Compiles offline: what a reference to another document finds is nothing.
fn build_as(document: &Value, draft: Draft) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options().with_draft(draft).offline().build(document)
}

/// Whether `items` is a list anywhere.
fn lists_items(document: &Value) -> bool {
    match document {
        Value::Object(members) => {
            members.get("items").is_some_and(Value::is_array) || members.values().any(lists_items)
        }
        Value::Array(items) => items.iter().any(lists_items),
        _ => false,
    }
}

fn describe(error: &ValidationError<'_>) -> SchemaError {
    let path = as_fragment(error.instance_path().as_str());
    match error.kind() {
        ValidationErrorKind::Referencing(error) => describe_reference(error, path),
        _ => SchemaError::Invalid { path, reason: reason(error) },
    }
}

fn describe_reference(error: &ReferencingError, path: String) -> SchemaError {
    match error {
        ReferencingError::Unretrievable { uri, .. } => {
            SchemaError::RemoteReference { reference: excerpt(uri).into_owned() }
        }
        ReferencingError::PointerToNowhere { pointer } => {
            SchemaError::BrokenReference { reference: excerpt(pointer).into_owned() }
        }
        ReferencingError::NoSuchAnchor { anchor } | ReferencingError::InvalidAnchor { anchor } => {
            SchemaError::BrokenReference { reference: excerpt(anchor).into_owned() }
        }
        ReferencingError::UnknownSpecification { specification } => {
            SchemaError::UnknownDraft { uri: excerpt(specification).into_owned() }
        }
        other => SchemaError::Invalid { path, reason: excerpt(&other.to_string()).into_owned() },
    }
}

/// Why a schema is invalid. Where an alternative of the draft's own schema is meant, the first one says more
/// than that none fits.
fn reason(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            context.iter().flatten().next().map_or_else(|| excerpt(&error.to_string()).into_owned(), reason)
        }
        ValidationErrorKind::Format { format } if format == "regex" => {
            format!("{} is no regular expression that can be used", excerpt(&error.instance().to_string()))
        }
        _ => excerpt(&error.to_string()).into_owned(),
    }
}
