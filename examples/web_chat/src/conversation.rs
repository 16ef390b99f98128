//! One conversation: its agent, and what a person may do to it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use turnstate::agent::Prompting;
use turnstate::hook::{Approval, ApprovalRequest, Decision, PrepareNextTurn, TurnLimit};
use turnstate::message::{AgentMessage, Content, UserMessage};
use turnstate::run::Ticket;
use turnstate::transcript::{Messages, Projector, Repair};
use turnstate::{Agent, Clock, Run, SystemClock};

use crate::board::{Board, Step};
use crate::feed::Feed;
use crate::limits::Limits;
use crate::model::ChatModel;
use crate::roles::ChatMessage;
use crate::tools::{self, Notes};

const SYSTEM_PROMPT: &str = "You help a person with their notes. Answer briefly, in plain Markdown. Use the tools for \
                             everything that they can find out; never guess what a note says.";

/// A run that has so many turns is going in circles.
const MOST_TURNS: usize = 25;

/// One conversation.
pub(crate) struct Conversation {
    agent: Agent<ChatMessage>,
    feed: Arc<Feed<Board>>,
    notices: Notices,
    limits: Limits,
}

impl Conversation {
    /// A new conversation with this model.
    pub(crate) fn new(model: &ChatModel, limits: &Limits) -> Self {
        let notices = Notices::default();
        let opening = AgentMessage::from(ChatMessage::notification(model.introduction()));
        // The feed is made before the run, since the hook that asks the person needs it.
        let feed = Arc::new(Feed::new(Board::default(), limits.steps, limits.step_bytes));
        let ask = {
            let (feed, notices) = (feed.clone(), notices.clone());
            async move |request: ApprovalRequest<'_>| ask_person(&feed, &notices, request).await
        };
        let run = Run::builder(model.stream())
            .custom_messages::<ChatMessage>()
            .system_prompt(SYSTEM_PROMPT)
            .model(model.name().clone())
            .tools(tools::all(&Notes::default(), model.pace()))
            .hook(Approval::new(ask).always_allow(tools::HARMLESS))
            .hook(TurnLimit::new(MOST_TURNS))
            .prepare_next_turn({
                let (feed, notices) = (feed.clone(), notices.clone());
                async move |_, _| {
                    let notes = feed.change(|board, _| board.give());
                    notices
                        .take()
                        .into_iter()
                        .chain(notes)
                        .fold(PrepareNextTurn::unchanged(), PrepareNextTurn::with_message)
                }
            })
            .build();
        let agent = Agent::new(run);
        // What the person sees from the beginning; nothing runs yet, so the agent cannot be busy.
        write(&agent, &opening);
        feed.change(|board, steps| board.add(&opening, steps));
        let listening = feed.clone();
        agent
            .subscribe(async move |event, cx| {
                listening.change(|board, steps| board.hear(event, cx.state, steps));
            })
            .keep();
        Self { agent, feed, notices, limits: limits.clone() }
    }

    /// Starts a run.
    pub(crate) fn prompt(&self, text: String) -> Result<(), Refused> {
        self.check_room()?;
        let run = self.agent.prompt(text).map_err(|_| Refused::Busy)?;
        self.drive(run);
        Ok(())
    }

    /// Puts a message in after the current tool calls.
    pub(crate) fn steer(&self, text: String) -> Result<(), Refused> {
        self.queue(user(text), |agent, message| agent.steer(message))
    }

    /// Puts a message in when the run would end.
    pub(crate) fn follow_up(&self, text: String) -> Result<(), Refused> {
        self.queue(user(text), |agent, message| agent.follow_up(message))
    }

    /// Lets the model know something, without asking it to answer: it reads it with the next request, whenever that is.
    pub(crate) fn note(&self, text: String) -> Result<(), Refused> {
        self.check_room()?;
        let message = AgentMessage::from(ChatMessage::note(text));
        self.feed.change(|board, steps| {
            if write(&self.agent, &message) {
                board.add(&message, steps);
                return Ok(());
            }
            // Not in a queue of the agent: what is in there keeps the run going.
            self.check_waiting(board)?;
            board.wait_here(message, steps);
            Ok(())
        })
    }

    /// Aborts the run under way. What was streamed stays.
    pub(crate) fn stop(&self) {
        self.agent.abort();
    }

    /// Asks again after a failed or stopped answer, or delivers what waits in the queues of an idle agent.
    pub(crate) fn retry(&self) -> Result<(), Refused> {
        self.check_room()?;
        // A note may be the last message; that alone is no reason to ask the model.
        if !self.feed.look(Board::is_unfinished) && !self.agent.has_queued() {
            return Err(if self.agent.is_idle() { Refused::NothingToRetry } else { Refused::Busy });
        }
        let run = self.agent.resume().map_err(|refused| match refused {
            turnstate::agent::ResumeRefused::Busy(_) => Refused::Busy,
            _ => Refused::NothingToRetry,
        })?;
        self.drive(run);
        Ok(())
    }

    /// Takes a waiting message back, and gives its text.
    pub(crate) fn take_back(&self, waiting: u64) -> Result<String, Refused> {
        self.feed.change(|board, steps| board.take_back(waiting, steps)).ok_or(Refused::NotWaiting)
    }

    /// Makes a steer of a follow-up that waits.
    pub(crate) fn promote(&self, waiting: u64) -> Result<(), Refused> {
        let promoted = self.feed.change(|board, steps| board.promote(waiting, steps));
        if promoted { Ok(()) } else { Err(Refused::NotWaiting) }
    }

    /// Answers whether a call may run.
    pub(crate) fn decide(&self, question: u64, decision: Decision) -> Result<(), Refused> {
        let decided = self.feed.change(|board, steps| board.decide(question, decision, steps));
        if decided { Ok(()) } else { Err(Refused::NotAsked) }
    }

    /// What the model would be sent now.
    pub(crate) fn seen_by_the_model(&self) -> Messages {
        Projector::of(Repair::On, self.agent.state().transcript()).messages()
    }

    pub(crate) fn feed(&self) -> &Arc<Feed<Board>> {
        &self.feed
    }

    /// Whether nothing runs and nobody reads.
    pub(crate) fn is_unused(&self) -> bool {
        self.agent.is_idle() && self.feed.readers() == 0
    }

    fn queue(
        &self,
        message: AgentMessage<ChatMessage>,
        queue: impl FnOnce(&Agent<ChatMessage>, AgentMessage<ChatMessage>) -> Ticket<ChatMessage>,
    ) -> Result<(), Refused> {
        self.check_room()?;
        self.feed.change(|board, steps| {
            self.check_waiting(board)?;
            let ticket = queue(&self.agent, message.clone());
            board.wait(ticket, message, steps);
            Ok(())
        })?;
        // The run may have ended while the person typed. Then the message does not wait for the next one.
        if let Ok(run) = self.agent.resume() {
            self.drive(run);
        }
        Ok(())
    }

    /// Drives a run on a task of its own, whoever looks on.
    fn drive(&self, mut run: Prompting<ChatMessage>) {
        let (agent, feed) = (self.agent.clone(), self.feed.clone());
        self.notices.forget();
        tokio::spawn(async move {
            // What is queued now came when the run had asked its queues for the last time.
            while run.await.is_success() && agent.has_queued() {
                match agent.resume() {
                    Ok(next) => run = next,
                    Err(_) => break,
                }
            }
            // If another run has begun by now, its turns are for what waits.
            feed.change(|board, steps| board.settle(|message| write(&agent, message), steps));
        });
    }

    fn check_waiting(&self, board: &Board) -> Result<(), Refused> {
        if board.waiting() < self.limits.waiting { Ok(()) } else { Err(Refused::TooManyWaiting) }
    }

    fn check_room(&self) -> Result<(), Refused> {
        let messages = self.feed.look(Board::messages);
        if messages < self.limits.messages { Ok(()) } else { Err(Refused::Full) }
    }
}

/// Puts a message at the end of the transcript; `false` while a run is under way.
fn write(agent: &Agent<ChatMessage>, message: &AgentMessage<ChatMessage>) -> bool {
    agent.edit_transcript(|transcript| transcript.push(message.clone())).is_ok()
}

fn user(text: String) -> AgentMessage<ChatMessage> {
    UserMessage::new(vec![Content::text(text)]).at(SystemClock::new().now()).into()
}

/// Asks the person whether a call may run, and waits for the answer.
async fn ask_person(feed: &Arc<Feed<Board>>, notices: &Notices, request: ApprovalRequest<'_>) -> Decision {
    let (question, answered) = feed.change(|board, steps| board.ask(request.call, steps));
    // When the run is stopped this future is dropped, and the question with it.
    let _asked = Asked { feed, question };
    let decision = answered.await.unwrap_or(Decision::refuse("Nobody answered."));
    notices.add(match decision {
        Decision::Allow => format!("You allowed {}.", request.call.name),
        Decision::AlwaysAllow => format!("You allowed {} from now on.", request.call.name),
        _ => format!("You refused {}.", request.call.name),
    });
    decision
}

/// A question that is withdrawn when nobody waits for its answer any more.
struct Asked<'a> {
    feed: &'a Feed<Board>,
    question: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.feed.change(|board, steps: &mut Vec<Step>| board.withdraw(self.question, steps));
    }
}

/// What the person is told in the conversation, but the model is not: put in with the next turn.
#[derive(Clone, Default)]
struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, text: String) {
        self.lock().push(text);
    }

    /// Forgets those of a run that was stopped before its next turn.
    fn forget(&self) {
        self.lock().clear();
    }

    fn take(&self) -> Vec<AgentMessage<ChatMessage>> {
        let texts = std::mem::take(&mut *self.lock());
        texts.into_iter().map(|text| ChatMessage::notification(text).into()).collect()
    }
}

/// Why something was not done. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Busy,
    Full,
    TooManyWaiting,
    NothingToRetry,
    NotWaiting,
    NotAsked,
}

impl Refused {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Full | Self::TooManyWaiting => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::CONFLICT,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "The agent is working already. Send the message while it works, or stop it first.",
            Self::Full => "This conversation is as long as it can get. Start a new one.",
            Self::TooManyWaiting => {
                "Too many messages are waiting already. Let some be delivered, or take some back."
            }
            Self::NothingToRetry => "There is nothing to try again: the last answer is complete.",
            Self::NotWaiting => "That message is not waiting any more: it was delivered or taken back.",
            Self::NotAsked => "That question is not open any more.",
        })
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("agent", &self.agent)
            .field("feed", &self.feed)
            .finish_non_exhaustive()
    }
}
