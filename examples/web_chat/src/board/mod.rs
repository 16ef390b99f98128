//! What a page shows of a conversation: the fold of its agent's events, and of what the person did.
//!
//! Everything that changes it also says how, in a [`Step`]: a page that starts from the snapshot and takes over the
//! steps shows the same as one that was there from the beginning.

mod answer;
mod call;
mod question;
mod timeline;
mod waiting;

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use turnstate::message::{AgentMessage, StopReason, Timestamp};
use turnstate::{AgentEvent, Ending, State};

use self::answer::{Answer, Piece};
use self::call::Call;
use self::question::{Question, QuestionView};
use self::timeline::{Flaw, Mark, Moment, Timeline};
use self::waiting::{Waiting, WaitingView};
use crate::feed::Boarding;
use crate::roles::ChatMessage;

/// What a page shows of a conversation.
#[derive(Default)]
pub(crate) struct Board {
    messages: Vec<Shown>,
    /// The answer that streams.
    answer: Option<Answer>,
    /// The calls of the open turn: running ones, and those whose results are not yet among the messages.
    calls: Vec<Call>,
    waiting: Vec<Waiting>,
    /// What pages were last told of the queues.
    told_waiting: Vec<WaitingView>,
    questions: Vec<Question>,
    running: bool,
    ending: Option<Ending>,
    timeline: Timeline,
    /// Numbers for calls, questions and waiting messages. Ids that models give may repeat; these do not.
    last_number: u64,
}

/// A message, and whether the model sees it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Shown {
    seen: bool,
    message: AgentMessage<ChatMessage>,
}

/// One change of a board.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Step {
    /// A run begins.
    RunStart { mark: Mark },
    /// A run is over.
    RunEnd { mark: Mark, ending: Option<Ending> },
    /// A turn begins.
    TurnStart { mark: Mark },
    /// A turn is over.
    TurnEnd { mark: Mark },
    /// An answer begins.
    AnswerStart { mark: Mark },
    /// The answer grew.
    Answer(Piece),
    /// A message is complete. If it is an answer, it takes the place of the one that streamed.
    Message { shown: Shown, mark: Option<Mark> },
    /// A tool call is taken up.
    CallStart { mark: Mark, call: Call },
    /// A tool tells how far it is.
    CallUpdate { call: u64, progress: String },
    /// A tool call has its result.
    CallEnd { mark: Mark, call: Call },
    /// A person is asked whether a call may run.
    Asked { question: QuestionView },
    /// A question is answered, or not asked any more.
    Answered { question: u64 },
    /// What waits in the queues now.
    Waiting { waiting: Vec<WaitingView> },
}

/// A board as a whole.
#[derive(Debug, Serialize)]
pub(crate) struct Snapshot {
    messages: Vec<Shown>,
    answer: Option<Answer>,
    calls: Vec<Call>,
    waiting: Vec<WaitingView>,
    questions: Vec<QuestionView>,
    running: bool,
    ending: Option<Ending>,
    timeline: Vec<Mark>,
    /// The server's time, since a page's clock may differ.
    now: Timestamp,
}

impl Boarding for Board {
    type Step = Step;
    type Snapshot = Snapshot;

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            messages: self.messages.clone(),
            answer: self.answer.clone(),
            calls: self.calls.clone(),
            waiting: self.told_waiting.clone(),
            questions: self.questions.iter().map(Question::view).collect(),
            running: self.running,
            ending: self.ending.clone(),
            timeline: self.timeline.marks(),
            now: now(),
        }
    }
}

impl Board {
    /// How many messages there are.
    pub(crate) fn messages(&self) -> usize {
        self.messages.len()
    }

    /// Whether the last run ended before the model was done.
    pub(crate) fn is_unfinished(&self) -> bool {
        let ended = self.ending.as_ref();
        ended.is_some_and(|ending| !matches!(ending, Ending::Stopped { .. } | Ending::Terminated))
    }

    /// Takes over an event of the agent. `state` is the run's state at that event.
    pub(crate) fn hear(
        &mut self,
        event: &AgentEvent<ChatMessage>,
        state: &State<ChatMessage>,
        steps: &mut Vec<Step>,
    ) {
        match event {
            AgentEvent::MessageUpdate { delta } => {
                // No queue is asked while an answer streams.
                steps.extend(self.answer.as_mut().and_then(|answer| answer.grow(delta)).map(Step::Answer));
                return;
            }
            AgentEvent::AgentStart => {
                (self.running, self.ending) = (true, None);
                let mark = self.timeline.begin(Mark::new(Moment::RunStart));
                steps.push(Step::RunStart { mark });
            }
            AgentEvent::AgentEnd { .. } => {
                self.running = false;
                self.ending = state.outcome().map(|outcome| outcome.ending.clone());
                let mark = self.timeline.add(Mark::new(Moment::RunEnd));
                steps.push(Step::RunEnd { mark, ending: self.ending.clone() });
            }
            AgentEvent::TurnStart => {
                steps.push(Step::TurnStart { mark: self.timeline.add(Mark::new(Moment::TurnStart)) });
            }
            AgentEvent::TurnEnd { .. } => {
                self.calls.clear();
                steps.push(Step::TurnEnd { mark: self.timeline.add(Mark::new(Moment::TurnEnd)) });
            }
            AgentEvent::MessageStart { message: AgentMessage::Assistant(answer) } => {
                self.answer = Some(Answer::default());
                // The model's time begins with the request, before it says anything.
                let mark = Mark::new(Moment::AnswerStart).at(answer.timestamp);
                steps.push(Step::AnswerStart { mark: self.timeline.add(mark) });
            }
            AgentEvent::MessageStart { .. } => {}
            AgentEvent::MessageEnd { message } => self.end_message(message, steps),
            AgentEvent::ToolExecutionStart { call } => {
                let call = Call::new(self.number(), call);
                let mark = self.timeline.add(Mark::of_call(Moment::CallStart, &call));
                self.calls.push(call.clone());
                steps.push(Step::CallStart { mark, call });
            }
            AgentEvent::ToolExecutionUpdate { call, partial } => {
                if let Some(call) = self.calls.iter_mut().find(|known| known.is(call)) {
                    let progress = call.progress(partial);
                    steps.push(Step::CallUpdate { call: call.number(), progress });
                }
            }
            AgentEvent::ToolExecutionEnd { call, result } => {
                if let Some(call) = self.calls.iter_mut().find(|known| known.is(call)) {
                    call.end(result);
                    let mark = self.timeline.add(Mark::of_call(Moment::CallEnd, call));
                    steps.push(Step::CallEnd { mark, call: call.clone() });
                }
            }
            // Events that a later version of the library tells are not shown here.
            _ => {}
        }
        self.tell_waiting(steps);
    }

    fn end_message(&mut self, message: &AgentMessage<ChatMessage>, steps: &mut Vec<Step>) {
        let mut mark = None;
        if let AgentMessage::Assistant(answer) = message {
            self.answer = None;
            let flaw = match answer.stop_reason {
                StopReason::Error => Some(Flaw::Failed),
                StopReason::Aborted => Some(Flaw::Stopped),
                _ => None,
            };
            mark = Some(self.timeline.add(Mark::new(Moment::AnswerEnd).with(flaw)));
        }
        self.waiting.retain(|waiting| !waiting.is(message));
        if let Some(shown) = self.show(message) {
            steps.push(Step::Message { shown, mark });
        }
    }

    /// Adds a message that the person put into the idle agent's transcript.
    pub(crate) fn add(&mut self, message: &AgentMessage<ChatMessage>, steps: &mut Vec<Step>) {
        steps.extend(self.show(message).map(|shown| Step::Message { shown, mark: None }));
    }

    /// System messages are for the model alone.
    fn show(&mut self, message: &AgentMessage<ChatMessage>) -> Option<Shown> {
        let seen = match message {
            AgentMessage::System(_) => return None,
            // Repair leaves failed and aborted answers out of the next request.
            AgentMessage::Assistant(answer) => answer.is_usable(),
            _ => !message.project().messages().is_empty(),
        };
        let shown = Shown { seen, message: message.clone() };
        self.messages.push(shown.clone());
        Some(shown)
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

/// Milliseconds since the Unix epoch.
fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::try_from(since_epoch.as_millis()).unwrap_or(Timestamp::MAX)
}

/// A text as far as it is shown while it is not final: progress, and results until their message is there.
fn shortened(text: String) -> String {
    const LONGEST: usize = 4_000;
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((at, _)) => format!("{}…", text.split_at(at).0),
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Board")
            .field("messages", &self.messages.len())
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
