//! Tools as they are declared to the model, and who the client is.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::json::null_as_default;

/// A tool as the model is told of it. Nothing else of a tool is in the transcript.
///
/// Two declarations are equal when these fields are equal as JSON values; the order of keys in `parameters` is no
/// difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDeclaration {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model.
    #[serde(default, deserialize_with = "null_as_default")]
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(with = "arc_value")]
    pub parameters: Arc<Value>,
    /// How strictly the provider is to hold the model to the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained_sampling: Option<ConstrainedSampling>,
}

impl ToolDeclaration {
    /// A declaration without a demand on sampling.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: impl Into<Arc<Value>>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: parameters.into(),
            constrained_sampling: None,
        }
    }
}

mod arc_value {
    use super::{Arc, Deserialize, Deserializer, Serialize, Serializer, Value};

    pub(super) fn serialize<S: Serializer>(value: &Arc<Value>, serializer: S) -> Result<S::Ok, S::Error> {
        Value::serialize(value, serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Value>, D::Error> {
        Value::deserialize(deserializer).map(Arc::new)
    }
}

/// How strictly a provider is to hold the model to a tool's schema while it samples.
///
/// JSON: `false`, `{"type": "json_schema", "strict": "prefer" | "require"}` or
/// `{"type": "grammar", "variants": {name: text}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConstrainedSampling {
    /// Never.
    Off,
    /// By the tool's JSON Schema.
    JsonSchema {
        /// Whether a provider that cannot do it may go on without.
        strict: StrictSchema,
    },
    /// By a grammar, one text for each kind of grammar.
    Grammar {
        /// The grammar's text by the name of its kind.
        variants: BTreeMap<String, String>,
    },
}

/// Whether sampling by the schema is a wish or a demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StrictSchema {
    /// Where the provider can.
    Prefer,
    /// Always; the request fails where the provider cannot.
    Require,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ConstrainedSamplingJson {
    Switch(bool),
    Kind(ConstrainedSamplingKind),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ConstrainedSamplingKind {
    JsonSchema { strict: StrictSchema },
    Grammar { variants: BTreeMap<String, String> },
}

impl Serialize for ConstrainedSampling {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use ConstrainedSamplingKind as Kind;
        match self.clone() {
            Self::Off => ConstrainedSamplingJson::Switch(false),
            Self::JsonSchema { strict } => ConstrainedSamplingJson::Kind(Kind::JsonSchema { strict }),
            Self::Grammar { variants } => ConstrainedSamplingJson::Kind(Kind::Grammar { variants }),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ConstrainedSampling {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use ConstrainedSamplingKind as Kind;
        match ConstrainedSamplingJson::deserialize(deserializer)? {
            ConstrainedSamplingJson::Switch(false) => Ok(Self::Off),
            ConstrainedSamplingJson::Switch(true) => {
                Err(serde::de::Error::custom("constrainedSampling is `false` or an object with a `type`"))
            }
            ConstrainedSamplingJson::Kind(Kind::JsonSchema { strict }) => Ok(Self::JsonSchema { strict }),
            ConstrainedSamplingJson::Kind(Kind::Grammar { variants }) => Ok(Self::Grammar { variants }),
        }
    }
}

/// Who sends the requests: providers show it in their statistics.
///
/// What a run's identity does not say is taken from the default one, which [names this crate](ClientIdentity::this_crate).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClientIdentity {
    /// The form of the `User-Agent` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<UserAgent>,
    /// The application that requests are attributed to: `None` is not said, `Some(None)` (`null` in JSON) is
    /// turned off.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_or_null")]
    pub attribution: Option<Option<Attribution>>,
    /// The client's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl ClientIdentity {
    /// The identity of a run that says nothing: this crate's name and version.
    #[must_use]
    pub fn this_crate() -> Self {
        Self {
            user_agent: Some(UserAgent::Short),
            attribution: Some(Some(Attribution {
                name: env!("CARGO_PKG_NAME").to_owned(),
                url: env!("CARGO_PKG_REPOSITORY").to_owned(),
                categories: None,
            })),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }
    }

    /// This identity, with the fields it does not say taken from `base`.
    #[must_use]
    pub(crate) fn merged_over(self, base: Self) -> Self {
        Self {
            user_agent: self.user_agent.or(base.user_agent),
            attribution: self.attribution.or(base.attribution),
            version: self.version.or(base.version),
        }
    }
}

fn some_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Attribution>>, D::Error> {
    Option::<Attribution>::deserialize(deserializer).map(Some)
}

/// The form of the `User-Agent` header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum UserAgent {
    /// Name and version.
    Short,
    /// Name, version and platform.
    Detailed,
    /// The host's own text.
    Custom(String),
}

/// The application that requests are attributed to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Attribution {
    /// Its name.
    pub name: String,
    /// Its home page.
    #[serde(default, deserialize_with = "null_as_default")]
    pub url: String,
    /// Its kinds, as providers list them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<String>>,
}

impl Attribution {
    /// An application by its name and home page.
    #[must_use]
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self { name: name.into(), url: url.into(), categories: None }
    }
}
