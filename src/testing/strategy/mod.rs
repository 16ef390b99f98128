//! Strategies for property tests: messages, transcripts, schemas, a model's answers, and whole scenarios with tools,
//! hooks and a host.
//!
//! They are generated from what a run can do, not filtered: nothing is rejected. They shrink to small scenarios, since
//! what is random in them are lists and indices.
//!
//! ```
//! use proptest::prelude::*;
//! use turnstate::testing::strategy::scenario;
//!
//! proptest!(ProptestConfig::with_cases(16), |(scenario in scenario())| {
//!     let played = scenario.play();
//!     prop_assert!(played.held_up.is_empty());
//! });
//! ```

mod message;
mod scenario;
mod schema;
mod script;

pub use message::{
    agent_message, agent_message_or, any_transcript, any_transcript_or, assistant_message, sound_transcript,
    system_message, text, tool_result_message, user_message,
};
pub use scenario::{Scenarios, scenario};
pub use schema::{SchemaCase, schema};
pub use script::{answer, any_delta, broken_answer, failing_answer};
