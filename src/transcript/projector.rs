//! The projection as a fold: what a model sees of a transcript, kept and extended.

use super::Messages;
use super::batch::Batch;
use super::repair::repaired;
use crate::message::{AgentMessage, CustomMessage, Message};

/// Whether the messages of a request are repaired. The transcript never is.
///
/// Providers refuse requests that a conversation can end up with: after an interruption, with a call that has no
/// result; after an empty answer, with empty text. Repair gives them what they accept:
///
/// * Directly after an answer stand the results of its calls, one for each call, in the order of the calls. A call
///   without a result gets an error result that is made up; results without a call are left out. Messages that were
///   written between a call and its result follow the results. Ids may repeat: results count for the calls of their
///   id in order, and only for those of the answer before them.
/// * Answers that failed or were aborted are left out, so a retry asks the question again.
/// * Blank text blocks are left out, and messages without any content. A tool result without content stays, since
///   it answers its call, and so does a system message that sets sections or changes tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Repair {
    /// Requests are repaired.
    #[default]
    On,
    /// Requests are what the messages project, as it is.
    Off,
}

/// The messages a model is sent, as a fold over the transcript.
///
/// Kept from request to request: push each new message of the transcript, and ask for the
/// [`request`](Self::request). Nothing is built again, and what a request held is a prefix of what the next one
/// holds, with repair too, so that a provider's cache of the conversation stays warm.
///
/// A message that is changed or taken away later cannot be taken back out of the fold: make a new one, by
/// [`of`](Self::of).
#[derive(Debug, Clone, Default)]
pub struct Projector {
    repair: Repair,
    messages: Messages,
    batch: Batch,
}

impl Projector {
    /// An empty projection.
    #[must_use]
    pub fn new(repair: Repair) -> Self {
        Self { repair, ..Self::default() }
    }

    /// The projection of a whole transcript.
    #[must_use]
    pub fn of<M: CustomMessage>(repair: Repair, transcript: &[AgentMessage<M>]) -> Self {
        let mut projector = Self::new(repair);
        projector.extend(transcript);
        projector
    }

    /// Goes on with the next message of the transcript.
    pub fn push<M: CustomMessage>(&mut self, message: &AgentMessage<M>) {
        for message in message.project() {
            match self.repair {
                Repair::On => self.push_repaired(message),
                Repair::Off => self.messages.push(message),
            }
        }
    }

    /// Goes on with the next messages of the transcript.
    pub fn extend<M: CustomMessage>(&mut self, messages: &[AgentMessage<M>]) {
        for message in messages {
            self.push(message);
        }
    }

    /// The messages of a request that is made now. They are shared: going on copies pointers only if the request is
    /// still held.
    ///
    /// Calls that are open now count as answered by their made-up results from here on, because the model has been
    /// told so; a result that comes later is left out. To look without asking, use [`messages`](Self::messages).
    #[must_use = "a request counts open calls as answered"]
    pub fn request(&mut self) -> Messages {
        self.batch.settle(&mut self.messages);
        self.messages.clone()
    }

    /// The messages that a request made now would hold, without making it: open calls stay open.
    #[must_use]
    pub fn messages(&self) -> Messages {
        let mut messages = self.messages.clone();
        if self.batch.is_open() {
            self.batch.clone().settle(&mut messages);
        }
        messages
    }

    fn push_repaired(&mut self, message: Message) {
        match repaired(message) {
            None => {}
            Some(Message::ToolResult(result)) => self.batch.answer(result, &mut self.messages),
            Some(Message::Assistant(answer)) => {
                // An answer is the reply to a request, and that request counted open calls as answered.
                self.batch.settle(&mut self.messages);
                self.batch.open(&answer);
                self.messages.push(answer);
            }
            Some(message) if self.batch.is_open() => self.batch.hold(message),
            Some(message) => self.messages.push(message),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::message::{
        AssistantContent, Content, StopReason, SystemMessage, ToolCall, ToolResultMessage, UserContent,
        UserMessage,
    };
    use crate::transcript::Transcript;
    use crate::transcript::repair::missing_result;
    use crate::transcript::samples::{
        Any, Sample, adds, answer, any_message, any_transcript, call, calls, result, sound_transcript,
        stopped, tool,
    };

    fn sent(transcript: &[Any]) -> Messages {
        Projector::of(Repair::On, transcript).request()
    }

    /// What the transcript would be sent as if all of it were sound.
    fn seen(transcript: &[Any]) -> Messages {
        Projector::of(Repair::Off, transcript).request()
    }

    fn made_up(id: &str) -> Any {
        missing_result(&ToolCall::new(id, "tool", serde_json::Map::new()), 7).into()
    }

    fn text(text: &str) -> Any {
        answer([AssistantContent::text(text)])
    }

    #[track_caller]
    fn check(transcript: &[Any], request: &[Any]) {
        assert_eq!(sent(transcript), seen(request));
    }

    #[test]
    fn a_call_without_a_result_is_answered_directly_after_its_answer() {
        let (u, go_on) = (|| Any::user("u"), || Any::user("go on"));
        let transcript = Transcript::from(vec![u(), calls(["a", "b"]), result("a", "A"), go_on()]);
        let before = transcript.to_vec();
        check(&transcript, &[u(), calls(["a", "b"]), result("a", "A"), made_up("b"), go_on()]);
        assert_eq!(*transcript, before);
    }

    #[test]
    fn what_was_written_between_a_call_and_its_result_follows_the_results() {
        let (u, s) = (|| Any::user("u"), || Any::system("s"));
        check(
            &[calls(["a", "b"]), u(), result("a", "A"), s(), result("b", "B"), u()],
            &[calls(["a", "b"]), result("a", "A"), result("b", "B"), u(), s(), u()],
        );
    }

    #[test]
    fn results_stand_in_the_order_of_their_calls() {
        check(
            &[calls(["a", "b", "c"]), result("c", "C"), result("b", "B"), result("a", "A")],
            &[calls(["a", "b", "c"]), result("a", "A"), result("b", "B"), result("c", "C")],
        );
    }

    #[test]
    fn a_repeated_id_takes_its_results_in_order() {
        let twice = || calls(["x", "y", "x"]);
        check(
            &[twice(), result("x", "1"), result("x", "2"), result("y", "Y"), result("x", "3")],
            &[twice(), result("x", "1"), result("y", "Y"), result("x", "2")],
        );
        check(&[twice(), result("x", "1")], &[twice(), result("x", "1"), made_up("y"), made_up("x")]);
        check(
            &[calls(["x"]), result("x", "1"), calls(["x"]), result("x", "2"), calls(["x"])],
            &[calls(["x"]), result("x", "1"), calls(["x"]), result("x", "2"), calls(["x"]), made_up("x")],
        );
    }

    #[test]
    fn a_result_counts_only_for_the_answer_before_it() {
        let u = || Any::user("u");
        check(&[u(), result("a", "A"), calls(["a"])], &[u(), calls(["a"]), made_up("a")]);
        check(
            &[calls(["a"]), calls(["b"]), result("a", "A"), result("b", "B")],
            &[calls(["a"]), made_up("a"), calls(["b"]), result("b", "B")],
        );
    }

    #[test]
    fn failed_and_aborted_answers_are_left_out_with_the_results_of_their_calls() {
        let u = || Any::user("u");
        for reason in [StopReason::Error, StopReason::Aborted] {
            let failed = || stopped([AssistantContent::text("half"), call("f")], reason);
            check(&[u(), failed(), result("f", "F"), u()], &[u(), u()]);
            check(&[calls(["a"]), failed(), result("a", "A")], &[calls(["a"]), result("a", "A")]);
        }
    }

    #[test]
    fn a_trace_of_an_abort_stays_in_the_transcript_for_a_host_that_tells_the_model() {
        let aborted = || stopped([], StopReason::Aborted);
        let transcript = Transcript::from(vec![Any::user("u"), aborted(), Any::user("something else")]);
        assert_eq!(sent(&transcript).len(), 2);
        assert_eq!(transcript[1], aborted());
        let unrepaired = Projector::of(Repair::Off, &transcript).request();
        assert_eq!(AgentMessage::<Sample>::from(unrepaired[1].clone()), aborted());
    }

    #[test]
    fn blank_text_and_empty_messages_are_left_out() {
        let blank = || AssistantContent::text(" \n\t");
        let empty_text = || AssistantContent::text("");
        for content in [vec![], vec![empty_text()], vec![blank()], vec![empty_text(), blank()]] {
            check(&[Any::user("u"), answer(content), Any::user("v")], &[Any::user("u"), Any::user("v")]);
        }
        check(
            &[answer([blank(), call("a"), empty_text()]), result("a", "A")],
            &[calls(["a"]), result("a", "A")],
        );
        for content in [UserContent::from(""), UserContent::from(" "), vec![].into(), vec!["".into()].into()]
        {
            check(&[UserMessage::new(content).into()], &[]);
        }
        let image = || Content::image("aGk=", "image/png");
        check(
            &[UserMessage::new(vec![Content::text(" "), image(), Content::text("u")]).into()],
            &[UserMessage::new(vec![image(), Content::text("u")]).into()],
        );
    }

    #[test]
    fn a_system_message_is_empty_only_if_it_changes_nothing() {
        check(&[Any::system(""), Any::system(" "), SystemMessage::default().into()], &[]);
        let section_only = || Any::from(SystemMessage::default().with_section("x", ""));
        let mut removes_section = SystemMessage::default();
        removes_section.sections.set("x", None);
        let kept = [
            section_only(),
            removes_section.into(),
            adds("", &[tool("t", "")], &[]).into(),
            adds("", &[], &["t"]).into(),
        ];
        check(&kept, &kept);
    }

    #[test]
    fn an_answer_of_thinking_alone_is_kept_with_its_block() {
        let thinking = || answer([AssistantContent::thinking("hm"), AssistantContent::text("")]);
        check(&[thinking()], &[answer([AssistantContent::thinking("hm")])]);
        check(&[answer([AssistantContent::thinking("")])], &[answer([AssistantContent::thinking("")])]);
    }

    #[test]
    fn an_empty_text_that_carries_the_providers_mark_is_kept() {
        let mut marked = crate::message::Text::new("");
        marked.text_signature = Some("mark".to_owned());
        check(&[answer([marked.clone().into()])], &[answer([marked.into()])]);
    }

    #[test]
    fn a_result_without_content_still_answers_its_call() {
        let load = |content: &str| -> Any {
            let json = format!(r#"{{"role":"toolResult","toolCallId":"a","toolName":"tool"{content}}}"#);
            serde_json::from_str(&json).unwrap()
        };
        let empty = || Any::from(ToolResultMessage::new("a", "tool", vec![]));
        for content in ["", r#","content":null"#, r#","content":[]"#, r#","content":[{"type":"text"}]"#] {
            check(&[calls(["a"]), load(content)], &[calls(["a"]), empty()]);
        }
    }

    #[test]
    fn every_role_reaches_the_request_in_place_and_custom_roles_as_they_project() {
        let note = |messages: Vec<Message>| Any::Custom(Arc::new(Sample::Note(messages)));
        let one = || Message::user("seen");
        check(
            &[
                Any::system("s"),
                Any::user("u"),
                Any::Custom(Arc::new(Sample::Ui)),
                note(vec![one()]),
                calls(["a"]),
                note(vec![one(), Message::user("")]),
                result("a", "A"),
                Any::system("mid"),
                text("t"),
            ],
            &[
                Any::system("s"),
                Any::user("u"),
                one().into(),
                calls(["a"]),
                result("a", "A"),
                one().into(),
                Any::system("mid"),
                text("t"),
            ],
        );
    }

    #[test]
    fn a_result_that_comes_after_the_request_was_made_is_left_out() {
        let mut projector = Projector::of(Repair::On, &[calls(["a"]), Any::user("u")]);
        assert_eq!(projector.request(), seen(&[calls(["a"]), made_up("a"), Any::user("u")]));
        projector.push(&result("a", "late"));
        assert_eq!(projector.request(), seen(&[calls(["a"]), made_up("a"), Any::user("u")]));
    }

    #[test]
    fn a_look_at_the_messages_leaves_calls_open() {
        let mut projector = Projector::of(Repair::On, &[calls(["a"])]);
        assert_eq!(projector.messages(), seen(&[calls(["a"]), made_up("a")]));
        projector.push(&result("a", "A"));
        assert_eq!(projector.request(), seen(&[calls(["a"]), result("a", "A")]));
    }

    #[test]
    fn a_request_is_shared_and_going_on_copies_only_while_it_is_held() {
        let mut projector = Projector::of(Repair::On, &[Any::user("u")]);
        projector.messages.make_mut().reserve(8);
        let place = projector.messages.as_ptr();
        assert!(projector.request().ptr_eq(&projector.request()));
        projector.push(&text("t"));
        assert_eq!(projector.messages.as_ptr(), place);

        let held = projector.request();
        projector.push(&Any::user("v"));
        assert_eq!((held.len(), projector.request().len()), (2, 3));
    }

    /// Repair written down a second time, over the whole list at once.
    fn repaired_at_once(transcript: &[Any]) -> Vec<Message> {
        let kept: Vec<_> = seen(transcript).iter().cloned().filter_map(repaired).collect();
        let mut request = Vec::new();
        let mut turns = kept.chunk_by(|_, next| !matches!(next, Message::Assistant(_))).map(<[_]>::to_vec);
        for turn in &mut turns {
            let (mut results, others): (Vec<_>, Vec<_>) =
                turn.into_iter().partition(|message| matches!(message, Message::ToolResult(_)));
            let mut others = others.into_iter().peekable();
            if let Some(Message::Assistant(answer)) = others.peek().cloned() {
                request.extend(others.next());
                for call in answer.tool_calls() {
                    let answers =
                        |m: &Message| matches!(m, Message::ToolResult(r) if r.tool_call_id == call.id);
                    request.push(match results.iter().position(answers) {
                        Some(at) => results.remove(at),
                        None => missing_result(call, answer.timestamp).into(),
                    });
                }
            }
            request.extend(others);
        }
        request
    }

    proptest! {
        #[test]
        fn the_fold_gives_what_repair_of_the_whole_list_gives(transcript in any_transcript()) {
            prop_assert_eq!(sent(&transcript).into_vec(), repaired_at_once(&transcript));
        }

        #[test]
        fn each_call_is_answered_once_directly_after_its_answer_and_nothing_else_is_a_result(
            transcript in any_transcript(),
        ) {
            let request = sent(&transcript);
            let mut expected = Vec::new();
            for message in &request {
                match message {
                    Message::ToolResult(result) => {
                        prop_assert!(!expected.is_empty());
                        prop_assert_eq!(expected.remove(0), result.tool_call_id.clone());
                    }
                    Message::Assistant(answer) => {
                        prop_assert!(expected.is_empty() && answer.is_usable() && !answer.content.is_empty());
                        expected.extend(answer.tool_calls().map(|call| call.id.clone()));
                    }
                    _ => prop_assert!(expected.is_empty()),
                }
            }
            prop_assert!(expected.is_empty());
        }

        #[test]
        fn no_request_holds_a_blank_text(transcript in any_transcript()) {
            for message in &sent(&transcript) {
                let texts: Vec<&str> = match message {
                    Message::System(_) => continue,
                    Message::User(message) => message.content.texts().collect(),
                    Message::Assistant(message) => message.texts().collect(),
                    Message::ToolResult(message) => message.texts().collect(),
                };
                prop_assert!(texts.iter().all(|text| !text.trim().is_empty()), "{:?}", message);
            }
        }

        #[test]
        fn repair_of_what_is_repaired_changes_nothing(transcript in any_transcript()) {
            let request = sent(&transcript);
            let again: Vec<_> = request.iter().cloned().map(Any::from).collect();
            prop_assert_eq!(sent(&again), request);
        }

        #[test]
        fn a_sound_transcript_is_sent_as_it_is_and_shared(transcript in sound_transcript()) {
            let request = sent(&transcript);
            prop_assert_eq!(request.len(), transcript.len());
            for (message, original) in request.iter().zip(&transcript) {
                let shared = match (message, original) {
                    (Message::User(a), Any::User(b)) => Arc::ptr_eq(a, b),
                    (Message::Assistant(a), Any::Assistant(b)) => Arc::ptr_eq(a, b),
                    (Message::ToolResult(a), Any::ToolResult(b)) => Arc::ptr_eq(a, b),
                    _ => false,
                };
                prop_assert!(shared);
            }
        }

        /// Requests are made anywhere, also while calls are open.
        #[test]
        fn each_request_is_a_prefix_of_the_next(
            steps in vec((any_message(), any::<bool>()), 0..24), repair in any::<bool>(),
        ) {
            let mut projector = Projector::new(if repair { Repair::On } else { Repair::Off });
            let mut before = Messages::new();
            for (message, ask) in &steps {
                projector.push(message);
                if *ask {
                    let looked = projector.messages();
                    let request = projector.request();
                    prop_assert_eq!(&looked, &request);
                    prop_assert!(request.starts_with(&before));
                    before = request;
                }
            }
        }

        #[test]
        fn a_look_at_the_messages_changes_nothing(steps in vec((any_message(), any::<bool>()), 0..24)) {
            let mut looked_at = Projector::default();
            for (message, look) in &steps {
                looked_at.push(message);
                if *look {
                    let _ = looked_at.messages();
                }
            }
            let transcript: Vec<_> = steps.into_iter().map(|(message, _)| message).collect();
            prop_assert_eq!(looked_at.request(), sent(&transcript));
        }
    }
}
