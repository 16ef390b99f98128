//! What the loop asks of a model, and how an answer grows from what the model streams.
//!
//! A model is one function: a [`StreamFn`] takes a [`Request`] and gives a stream of [`Delta`]s. It never fails by
//! itself; a failure is a delta too. The loop's driver grows a [`PartialMessage`] from the deltas, for every
//! transport in the same way. The guide [models](crate::guide::models) has a real one, a recorded one and one behind a
//! proxy.

pub mod arguments;
mod blocks;
mod channel;
mod default;
mod delta;
mod partial;
mod request;
mod shared;
mod stream_fn;

pub use channel::{Closed, DeltaReceiver, DeltaSender, delta_channel};
pub use default::{DefaultAlreadySet, NoDefaultStreamFn, default_stream_fn, set_default_stream_fn};
pub use delta::{Delta, Done, Failure, Metadata, ToolCallHead};
pub use partial::{MalformedDelta, PartialBlock, PartialMessage, PartialToolCall};
pub use request::{
    ApiKey, CacheRetention, Headers, Model, Request, RequestOptions, ThinkingBudgets, Transport,
};
pub use stream_fn::{BoxDeltaStream, DeltaStream, ModelError, StreamFn, StreamFnAdapter, stream_fn};
