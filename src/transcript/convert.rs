//! What a run can start from, and taking a transcript to a run whose custom messages are of another type.

use super::Transcript;
use crate::message::{AgentMessage, ConvertError, CustomMessage, NoCustom};

/// What a run can start from: a transcript, or a list of messages.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a transcript for a run with messages of type `{M}`",
    label = "not a transcript for this run",
    note = "an application's own message type is declared with `.custom_messages::<AppMessage>()` at the start of the builder",
    note = "a transcript of another message type is converted: `transcript.convert()?`, or `transcript.widen()` where it has no custom messages"
)]
pub trait IntoTranscript<M> {
    /// The transcript.
    fn into_transcript(self) -> Transcript<M>;
}

impl<M> IntoTranscript<M> for Transcript<M> {
    fn into_transcript(self) -> Self {
        self
    }
}

impl<M> IntoTranscript<M> for Vec<AgentMessage<M>> {
    fn into_transcript(self) -> Transcript<M> {
        self.into()
    }
}

/// Why a transcript cannot be taken over: which message stands in the way.
#[derive(Debug, thiserror::Error)]
#[error("the transcript's message {index} cannot be converted")]
#[non_exhaustive]
pub struct ConvertTranscriptError {
    /// The message's place in the transcript, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub source: ConvertError,
}

impl<M: CustomMessage> Transcript<M> {
    /// The same transcript for a run whose custom messages are `N`; [`AgentMessage::convert`] says how each message
    /// is converted.
    ///
    /// # Errors
    /// The first message that `N` has no place for. Nothing is left out on the way.
    ///
    /// [`AgentMessage::convert`]: crate::message::AgentMessage::convert
    pub fn convert<N: CustomMessage>(&self) -> Result<Transcript<N>, ConvertTranscriptError> {
        let converted = self.iter().enumerate().map(|(index, message)| {
            message.convert().map_err(|source| ConvertTranscriptError { index, source })
        });
        converted.collect()
    }
}

impl Transcript<NoCustom> {
    /// The same transcript for a run with custom messages of any type. The messages are shared.
    #[must_use]
    pub fn widen<M>(&self) -> Transcript<M> {
        self.iter().cloned().map(|message| message.widen()).collect()
    }
}
