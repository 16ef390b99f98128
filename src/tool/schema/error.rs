//! What is wrong with a schema, and what is wrong with arguments.

use std::error::Error;
use std::fmt;

/// A schema that no tool can have. Found when the tool is made, never in the middle of a run: by
/// [`AgentTool::try_new`](crate::tool::AgentTool::try_new), or where the schema itself is made. A tool that was made all
/// the same keeps it as its [`schema_fault`](crate::tool::AgentTool::schema_fault).
///
/// Paths are JSON pointers into the schema, `#` being the whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Arguments are always an object, and the schema is none or takes none.
    #[error("a tool's schema is a JSON object that describes an object, not {found}")]
    NotAnObject {
        /// What it is or describes instead.
        found: String,
    },
    /// Arrays and objects of the schema nest without reason, or a value is handed on from reference to
    /// reference without reason.
    #[error("the schema nests, or its references lead on, deeper than {limit} levels")]
    TooDeep {
        /// How many levels are allowed.
        limit: usize,
    },
    /// Following the references, the schema has more subschemas than any real one: each value would be checked
    /// again and again.
    #[error("the schema has more than {limit} subschemas, counted as often as references lead to them")]
    TooLarge {
        /// How many are allowed.
        limit: usize,
    },
    /// The schema lives partly elsewhere. Nothing is fetched: put what is referred to into the schema itself.
    #[error("the schema refers to another document, `{reference}`, and nothing is fetched")]
    RemoteReference {
        /// The document, as referred to.
        reference: String,
    },
    /// A reference leads nowhere.
    #[error("the schema refers to `{reference}`, which is not in it")]
    BrokenReference {
        /// The JSON pointer or anchor that does not exist.
        reference: String,
    },
    /// Following the schema's references comes back to the same place with the same value, for ever. A
    /// reference below `properties` or `items` is fine: it follows the data down.
    #[error("the schema refers to itself at `{path}` without descending into the data")]
    SelfReference {
        /// A place on the circle.
        path: String,
    },
    /// `$schema` names a draft that is not one of JSON Schema's, from draft 4 to 2020-12. What the schema means
    /// cannot be known; if it is plain JSON Schema, take `$schema` out.
    #[error("the schema's draft `{uri}` is unknown")]
    UnknownDraft {
        /// The value of `$schema`.
        uri: String,
    },
    /// The schema breaks the rules of its draft, or has a regular expression that cannot be used.
    #[error("the schema is invalid at `{path}`: {reason}")]
    Invalid {
        /// Where.
        path: String,
        /// Which rule, in the validator's words.
        reason: String,
    },
}

/// Arguments that a tool's schema refuses, after coercion.
///
/// The text (`Display`) is written for the model, to act on: it names the tool and, one on a line, the
/// problems. It never grows beyond 16 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidArguments {
    tool: String,
    problems: Vec<Problem>,
    /// There were more problems than are listed.
    more: bool,
}

/// One reason why arguments do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Where: keys and positions joined by dots, `edits.0.line`, or `root` for the arguments as a whole. A
    /// missing key and an unknown one are named by their own path.
    pub path: String,
    /// What the schema wants there, as the object of a sentence: `an integer`.
    pub expected: String,
    /// What came, in the same form, long values cut: `the string "abc"`.
    pub got: String,
}

impl InvalidArguments {
    /// How many problems are listed. More would not help the model.
    #[cfg(feature = "validate")]
    pub(super) const MOST_PROBLEMS: usize = 16;

    /// `problems` may be longer than the list that is kept, but not empty.
    #[cfg(feature = "validate")]
    pub(super) fn new(tool: &str, mut problems: Vec<Problem>) -> Self {
        let more = problems.len() > Self::MOST_PROBLEMS;
        problems.truncate(Self::MOST_PROBLEMS);
        Self { tool: tool.to_owned(), problems, more }
    }

    #[cfg(feature = "validate")]
    pub(super) fn too_deep(tool: &str, limit: usize) -> Self {
        let expected = format!("at most {limit} levels of nested arrays and objects");
        Self::new(tool, vec![Problem { path: "root".to_owned(), expected, got: "more".to_owned() }])
    }

    /// The tool that was called.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The problems, in the schema's order; never empty, and at most 16.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The paths of the problems, see [`Problem::path`]. One path can have several problems.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.problems.iter().map(|problem| problem.path.as_str())
    }
}

impl fmt::Display for InvalidArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid arguments for the tool `{}`:", self.tool)?;
        for problem in &self.problems {
            write!(f, "\n- {problem}")?;
        }
        if self.more {
            write!(f, "\n- and more problems of this kind")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, got {}", self.path, self.expected, self.got)
    }
}

impl Error for InvalidArguments {}
