#![allow(clippy::unwrap_used, reason = "tests")]

use genai::chat::{
    CacheCreationDetails, CompletionTokensDetails, ContentPart, MessageContent, PromptTokensDetails,
    StreamChunk, ToolChunk,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::message::{AssistantContent, AssistantMessage, Text, Thinking, ToolCall};
use crate::model::PartialMessage;

/// What the assembly is given: an event, or a note of the frames.
#[derive(Debug, Clone)]
enum Step {
    Text(&'static str),
    Thinking(&'static str),
    Signature(&'static str),
    Call(chat::ToolCall),
    Note(Note),
    End { reason: Option<&'static str>, calls: Vec<chat::ToolCall>, id: Option<&'static str> },
}

use Step::{Call as CallStep, Signature, Text as TextStep, Thinking as ThinkingStep};

fn event(step: Step) -> Result<ChatStreamEvent, Note> {
    let chunk = |content: &str| StreamChunk { content: content.to_owned() };
    Ok(match step {
        Step::Text(text) => ChatStreamEvent::Chunk(chunk(text)),
        Step::Thinking(text) => ChatStreamEvent::ReasoningChunk(chunk(text)),
        Step::Signature(text) => ChatStreamEvent::ThoughtSignatureChunk(chunk(text)),
        Step::Call(tool_call) => ChatStreamEvent::ToolCallChunk(ToolChunk { tool_call }),
        Step::Note(note) => return Err(note),
        Step::End { reason, calls, id } => ChatStreamEvent::End(StreamEnd {
            captured_stop_reason: reason.map(|reason| reason.to_owned().into()),
            captured_content: Some(MessageContent::from_tool_calls(calls)),
            captured_response_id: id.map(str::to_owned),
            ..StreamEnd::default()
        }),
    })
}

fn end(reason: &'static str) -> Step {
    Step::End { reason: Some(reason), calls: Vec::new(), id: None }
}

fn end_with(reason: &'static str, calls: Vec<chat::ToolCall>) -> Step {
    Step::End { reason: Some(reason), calls, id: None }
}

fn piece(id: &str, name: &str, arguments: impl Into<Value>) -> chat::ToolCall {
    chat::ToolCall {
        call_id: id.to_owned(),
        fn_name: name.to_owned(),
        fn_arguments: arguments.into(),
        thought_signatures: None,
    }
}

fn call(id: &str, name: &str, arguments: Value) -> AssistantContent {
    ToolCall::new(id, name, arguments.as_object().unwrap().clone()).into()
}

fn thinking(text: &str, signature: Option<&str>) -> AssistantContent {
    let mut thinking = Thinking::new(text);
    thinking.thinking_signature = signature.map(str::to_owned);
    thinking.into()
}

/// All deltas, up to the terminal one that is always there.
fn deltas(protocol: Protocol, steps: impl IntoIterator<Item = Step>) -> Vec<Delta> {
    let mut assembly = Assembly::new(protocol, None);
    for step in steps {
        match event(step) {
            Ok(event) => assembly.event(event),
            Err(note) => assembly.note(note),
        }
    }
    if !assembly.has_ended() {
        assembly.broken_off();
    }
    let deltas: Vec<Delta> = std::iter::from_fn(|| assembly.next_delta()).collect();
    let terminal = deltas.iter().position(Delta::is_terminal);
    assert_eq!(terminal, Some(deltas.len() - 1), "one terminal delta, at the end: {deltas:?}");
    deltas
}

fn message_of(deltas: &[Delta]) -> AssistantMessage {
    let mut answer = PartialMessage::new(AssistantMessage::default());
    for delta in deltas {
        match delta {
            Delta::Done(done) => return answer.finish(done),
            Delta::Error(failure) => return answer.fail(failure),
            delta => answer.apply(delta).unwrap(),
        }
    }
    unreachable!("`deltas` checks that there is a terminal one")
}

fn message(protocol: Protocol, steps: impl IntoIterator<Item = Step>) -> AssistantMessage {
    message_of(&deltas(protocol, steps))
}

#[test]
fn blocks_keep_the_order_in_which_they_came_and_arguments_are_fragments_again() {
    let deltas = deltas(
        Protocol::OpenAi,
        [
            Step::Note(Note::Begun),
            Step::Note(Note::Head { id: Some("r".to_owned()), model: Some("m-1".to_owned()) }),
            ThinkingStep("hm"),
            TextStep("I "),
            TextStep("look."),
            CallStep(piece("c1", "read", "")),
            CallStep(piece("c1", "read", "{\"p\":\"\\u")),
            CallStep(piece("c1", "read", "{\"p\":\"\\u20ac\"}")),
            TextStep("And"),
            CallStep(piece("c2", "read", "{}")),
            end_with("stop", vec![piece("c1", "read", json!({"p": "€"})), piece("c2", "read", json!({}))]),
        ],
    );
    let fragments: Vec<_> = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::ToolCall { index, delta } => Some((*index, delta.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(fragments, [(2, "{\"p\":\"\\u"), (2, "20ac\"}"), (4, "{}")]);
    assert_eq!(deltas[0], Delta::Start);
    let message = message_of(&deltas);
    assert_eq!(
        message.content,
        [
            thinking("hm", None),
            AssistantContent::text("I look."),
            call("c1", "read", json!({"p": "€"})),
            AssistantContent::text("And"),
            call("c2", "read", json!({})),
        ]
    );
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!(message.raw_stop_reason.as_deref(), Some("stop"));
    assert_eq!(message.response_id.as_deref(), Some("r"));
    assert_eq!(message.response_model.as_deref(), Some("m-1"));
}

#[test]
fn why_an_answer_ended_is_decided_by_its_calls_and_its_length() {
    let one_call = || CallStep(piece("c", "t", "{}"));
    for (protocol, step, reason, expected, error) in [
        (Protocol::OpenAi, TextStep("x"), "stop", StopReason::Stop, None),
        (Protocol::OpenAi, one_call(), "tool_calls", StopReason::ToolUse, None),
        (Protocol::Responses, one_call(), "completed", StopReason::ToolUse, None),
        (Protocol::Gemini, one_call(), "STOP", StopReason::ToolUse, None),
        (Protocol::Gemini, one_call(), "FUNCTION_CALL", StopReason::ToolUse, None),
        (Protocol::Anthropic, TextStep("x"), "stop_sequence", StopReason::Stop, None),
        (Protocol::Anthropic, one_call(), "max_tokens", StopReason::Length, None),
        (Protocol::Responses, TextStep("x"), "incomplete", StopReason::Length, None),
        (
            Protocol::Gemini,
            TextStep("x"),
            "SAFETY",
            StopReason::Error,
            Some("the provider's content filter stopped the answer: `SAFETY`"),
        ),
        (
            Protocol::Gemini,
            one_call(),
            "MALFORMED_FUNCTION_CALL",
            StopReason::Error,
            Some("the provider ended its answer for an unknown reason: `MALFORMED_FUNCTION_CALL`"),
        ),
    ] {
        let message = message(protocol, [step, end(reason)]);
        assert_eq!(message.stop_reason, expected, "{reason}");
        assert_eq!(message.error_message.as_deref(), error, "{reason}");
        assert_eq!(message.raw_stop_reason.as_deref(), Some(reason));
        assert_eq!(message.content.len(), 1, "what was streamed stays");
    }
}

#[test]
fn the_call_of_an_answer_that_was_cut_keeps_what_can_be_read_and_is_no_error() {
    let half = "{\"a\":1,\"b\":\"x";
    let steps = [CallStep(piece("c", "t", half)), end_with("length", vec![piece("c", "t", half)])];
    let message = message(Protocol::OpenAi, steps);
    assert_eq!(message.stop_reason, StopReason::Length);
    assert_eq!(message.content, [call("c", "t", json!({"a": 1, "b": "x"}))]);
}

#[test]
fn an_end_that_genai_made_up_is_an_error() {
    let early = "the provider ended its answer before it was complete";
    let end = |id| Step::End { reason: None, calls: Vec::new(), id };
    for (protocol, steps, error) in [
        (Protocol::Responses, vec![TextStep("x"), end(None)], Some(early)),
        (Protocol::Responses, vec![TextStep("x"), end(Some("r"))], None),
        (Protocol::Gemini, vec![TextStep("x"), end(None)], Some(early)),
        (Protocol::Ollama, vec![TextStep("x"), end(None)], Some(early)),
        (Protocol::OpenAi, vec![TextStep("x"), end(None)], None),
        (Protocol::OpenAi, vec![TextStep("x")], Some(early)),
        (Protocol::Anthropic, vec![], Some(early)),
    ] {
        let message = message(protocol, steps);
        assert_eq!(message.error_message.as_deref(), error, "{protocol:?}");
    }
}

#[test]
fn a_text_that_does_not_go_on_from_the_one_before_counts_whole() {
    let deltas = deltas(
        Protocol::OpenAi,
        [
            CallStep(piece("c", "t", "{\"a\"")),
            CallStep(piece("c", "t", "{\"b\"")),
            CallStep(piece("c", "t", "{\"b\":2}")),
            end("tool_calls"),
        ],
    );
    assert_eq!(message_of(&deltas).content, [call("c", "t", json!({"b": 2}))]);
    assert_eq!(deltas.iter().filter(|delta| matches!(delta, Delta::ToolCall { .. })).count(), 1);
}

#[test]
fn what_responses_say_at_the_end_of_a_call_goes_over_what_streamed() {
    let steps = |whole: Value| {
        [
            CallStep(piece("c", "t", "{\"a\": ")),
            end_with("completed", vec![piece("c", "t", whole), piece("d", "u", json!({}))]),
        ]
    };
    let content = message(Protocol::Responses, steps(json!({"a": 1}))).content;
    assert_eq!(content, [call("c", "t", json!({"a": 1})), call("d", "u", json!({}))]);
    // Elsewhere the pieces count, so that arguments that cannot be read do not become others.
    let content = message(Protocol::Bedrock, steps(json!({}))).content;
    assert!(content[0].as_tool_call().unwrap().arguments_error.is_some());
}

#[test]
fn odd_ids_and_names_give_each_call_its_own_block() {
    for (protocol, steps, expected) in [
        (
            Protocol::Gemini,
            vec![
                CallStep(piece("call#t#0", "t", json!({"a": 1}))),
                CallStep(piece("call#t#0", "t", json!({"a": 2}))),
                end_with(
                    "STOP",
                    vec![piece("call#t#0", "t", json!({"a": 1})), piece("call#t#0", "t", json!({"a": 2}))],
                ),
            ],
            vec![call("call#t#0", "t", json!({"a": 1})), call("call#t#1", "t", json!({"a": 2}))],
        ),
        (
            Protocol::OpenAi,
            vec![
                CallStep(piece("c", "t", "{\"a\":1}")),
                CallStep(piece("c", "t", "")),
                CallStep(piece("c", "t", "{\"a\":2}")),
                end_with(
                    "tool_calls",
                    vec![piece("c", "t", json!({"a": 1})), piece("c", "t", json!({"a": 2}))],
                ),
            ],
            vec![call("c", "t", json!({"a": 1})), call("c", "t", json!({"a": 2}))],
        ),
        (
            Protocol::OpenAi,
            vec![
                CallStep(piece("c", "", "")),
                CallStep(piece("c", "", "{\"a\"")),
                CallStep(piece("call_0", "t", "{\"a\":1}")),
                end("tool_calls"),
            ],
            vec![call("call_0", "t", json!({"a": 1}))],
        ),
        (
            Protocol::OpenAi,
            vec![TextStep("x"), CallStep(piece("", "", "{}")), end("tool_calls")],
            vec![AssistantContent::text("x"), call("call-1", "", json!({}))],
        ),
        (
            Protocol::Responses,
            vec![end_with("completed", vec![piece("c", "t", json!({"a": 1})), piece("d", "t", Value::Null)])],
            vec![call("c", "t", json!({"a": 1})), call("d", "t", json!({}))],
        ),
        (
            Protocol::Ollama,
            vec![
                CallStep(piece("a", "t", json!({"a": 1}))),
                CallStep(piece("b", "t", json!({"a": 1}))),
                end("stop"),
            ],
            vec![call("a", "t", json!({"a": 1})), call("b", "t", json!({"a": 1}))],
        ),
    ] {
        assert_eq!(message(protocol, steps.clone()).content, expected, "{steps:?}");
    }
}

#[test]
fn signatures_stay_with_what_they_sign() {
    let signed_text = |text: &str, signature: &str| {
        let mut text = Text::new(text);
        text.text_signature = Some(signature.to_owned());
        AssistantContent::from(text)
    };
    let signed_call = |id: &str, signature: &str| {
        let mut call = ToolCall::new(id, "t", serde_json::Map::new());
        call.thought_signature = Some(signature.to_owned());
        AssistantContent::from(call)
    };
    let with_signature = |id: &str, signature: &str| {
        let mut piece = piece(id, "t", json!({}));
        piece.thought_signatures = Some(vec![signature.to_owned()]);
        CallStep(piece)
    };
    let border = || Step::Note(Note::Border);
    for (protocol, steps, expected) in [
        (
            Protocol::Anthropic,
            vec![
                border(),
                ThinkingStep("a"),
                Signature("s1"),
                Signature("+"),
                border(),
                ThinkingStep("b"),
                Signature("s2"),
            ],
            vec![thinking("a", Some("s1+")), thinking("b", Some("s2"))],
        ),
        // The signature of a block may come first, or alone.
        (
            Protocol::Anthropic,
            vec![Signature("s1"), ThinkingStep("a"), border(), Signature("s2"), border(), TextStep("x")],
            vec![thinking("a", Some("s1")), thinking("", Some("s2")), AssistantContent::text("x")],
        ),
        (
            Protocol::Interactions,
            vec![ThinkingStep("a"), Signature("s1"), ThinkingStep("b"), Signature("s2")],
            vec![thinking("a", Some("s1")), thinking("b", Some("s2"))],
        ),
        (
            Protocol::Responses,
            vec![
                ThinkingStep("a"),
                Step::Note(Note::Signature("e1".to_owned())),
                CallStep(piece("c", "t", "{}")),
                Step::Note(Note::Signature("e2".to_owned())),
            ],
            vec![thinking("a", Some("e1")), call("c", "t", json!({})), thinking("", Some("e2"))],
        ),
        // Gemini's come before the part, and a call's also with it.
        (
            Protocol::Gemini,
            vec![Signature("s1"), Signature("s2"), with_signature("a", "s1"), with_signature("b", "s2")],
            vec![signed_call("a", "s1"), signed_call("b", "s2")],
        ),
        (
            Protocol::Gemini,
            vec![Signature("s"), TextStep("x"), with_signature("a", "s")],
            vec![AssistantContent::text("x"), signed_call("a", "s")],
        ),
        (
            Protocol::Gemini,
            vec![TextStep("x"), Signature("s"), TextStep("y"), TextStep("z")],
            vec![AssistantContent::text("x"), signed_text("y", "s"), AssistantContent::text("z")],
        ),
        (Protocol::Gemini, vec![TextStep("x"), Signature("s")], vec![signed_text("x", "s")]),
    ] {
        let steps = steps.into_iter().chain([end("stop")]);
        assert_eq!(message(protocol, steps).content, expected, "{protocol:?}");
    }
}

#[test]
fn hidden_thinking_stands_in_its_place() {
    let steps = [
        ThinkingStep("a"),
        Signature("s"),
        Step::Note(Note::Border),
        Step::Note(Note::Redacted("xyz".to_owned())),
        Step::Note(Note::Border),
        TextStep("x"),
        end("end_turn"),
    ];
    let mut hidden = Thinking::new("");
    hidden.thinking_signature = Some("xyz".to_owned());
    hidden.redacted = Some(true);
    let content = message(Protocol::Anthropic, steps).content;
    assert_eq!(content, [thinking("a", Some("s")), hidden.into(), AssistantContent::text("x")]);
}

#[test]
fn a_refused_prompt_says_why() {
    let mut assembly = Assembly::new(Protocol::Gemini, None);
    assembly.note(Note::Begun);
    assembly.note(Note::Refused("SAFETY".to_owned()));
    assembly.fail(Failure::new("null"));
    let deltas: Vec<Delta> = std::iter::from_fn(|| assembly.next_delta()).collect();
    let error = message_of(&deltas).error_message;
    assert_eq!(error.as_deref(), Some("the provider refused the prompt: SAFETY"));
}

#[test]
fn tokens_of_the_cache_are_counted_apart() {
    let wire = chat::Usage {
        prompt_tokens: Some(100),
        prompt_tokens_details: Some(PromptTokensDetails {
            cached_tokens: Some(60),
            cache_creation_tokens: Some(30),
            cache_creation_details: Some(CacheCreationDetails {
                ephemeral_1h_tokens: Some(20),
                ephemeral_5m_tokens: Some(10),
            }),
            audio_tokens: None,
        }),
        completion_tokens: Some(7),
        completion_tokens_details: Some(CompletionTokensDetails {
            reasoning_tokens: Some(3),
            ..CompletionTokensDetails::default()
        }),
        total_tokens: None,
    };
    let mut expected = Usage::new(10, 7);
    (expected.cache_read, expected.cache_write, expected.cache_write_1h) = (60, 30, Some(20));
    (expected.reasoning, expected.total_tokens) = (Some(3), 107);
    assert_eq!(usage(wire), expected);
    let odd = chat::Usage { prompt_tokens: Some(-5), completion_tokens: None, ..chat::Usage::default() };
    assert_eq!(usage(odd), Usage::new(0, 0));
}

#[test]
fn what_genai_gathered_adds_only_what_did_not_stream() {
    let parts = || {
        vec![
            ContentPart::ThoughtSignature("s".to_owned()),
            ContentPart::ReasoningContent("a".to_owned()),
            ContentPart::Text("x".to_owned()),
        ]
    };
    let text = AssistantContent::text("x");
    for (protocol, signs, expected) in [
        (Protocol::Anthropic, false, vec![text.clone()]),
        (Protocol::Responses, true, vec![text.clone(), thinking("", Some("e"))]),
        (Protocol::Responses, false, vec![text, thinking("", Some("s"))]),
    ] {
        let mut assembly = Assembly::new(protocol, Some("high"));
        assembly.event(event(TextStep("x")).unwrap());
        if signs {
            assembly.note(Note::Signature("e".to_owned()));
        }
        assembly.event(ChatStreamEvent::End(StreamEnd {
            captured_content: Some(MessageContent::from_parts(parts())),
            captured_stop_reason: Some("stop".to_owned().into()),
            ..StreamEnd::default()
        }));
        let deltas: Vec<Delta> = std::iter::from_fn(|| assembly.next_delta()).collect();
        let message = message_of(&deltas);
        assert_eq!(message.content, expected, "{protocol:?}");
        assert_eq!(message.provider_thinking_level.as_deref(), Some("high"));
    }
}

fn protocols() -> impl Strategy<Value = Protocol> {
    prop::sample::select(vec![
        Protocol::OpenAi,
        Protocol::Responses,
        Protocol::Anthropic,
        Protocol::Gemini,
        Protocol::Interactions,
        Protocol::Ollama,
        Protocol::Bedrock,
        Protocol::Cohere,
    ])
}

/// Steps that need not make sense.
fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let word = || {
        prop::sample::select(vec!["", "a", "{", "{\"a\":1}", "{\"a\":1}{", "東京", "null", "\"", "call#t#0"])
    };
    let value = prop_oneof![
        word().prop_map(Value::from),
        Just(Value::Null),
        Just(json!({"a": 1})),
        Just(json!([1])),
        Just(json!(true)),
    ];
    let call =
        (word(), word(), value, prop::option::of(word())).prop_map(|(id, name, arguments, signature)| {
            let mut call = piece(id, name, arguments);
            call.thought_signatures = signature.map(|signature| vec![signature.to_owned()]);
            call
        });
    let note = prop_oneof![
        Just(Note::Begun),
        Just(Note::Border),
        word().prop_map(|id| Note::Head { id: Some(id.to_owned()), model: None }),
        word().prop_map(|text| Note::Redacted(text.to_owned())),
        word().prop_map(|text| Note::Signature(text.to_owned())),
        word().prop_map(|text| Note::Refused(text.to_owned())),
        word().prop_map(|text| Note::Unreadable(text.to_owned())),
    ];
    let reason =
        prop::option::of(prop::sample::select(vec!["stop", "length", "tool_calls", "SAFETY", "huh"]));
    let end = (reason, prop::collection::vec(call.clone(), 0..3)).prop_map(|(reason, calls)| Step::End {
        reason,
        calls,
        id: Some("r"),
    });
    let step = prop_oneof![
        3 => word().prop_map(Step::Text),
        3 => word().prop_map(Step::Thinking),
        2 => word().prop_map(Step::Signature),
        6 => call.prop_map(Step::Call),
        3 => note.prop_map(Step::Note),
        1 => end,
    ];
    prop::collection::vec(step, 0..25)
}

proptest! {
    #[test]
    fn odd_sequences_give_well_formed_deltas(protocol in protocols(), steps in any_steps()) {
        let deltas = deltas(protocol, steps);
        let message = message_of(&deltas);
        prop_assert!(message.tool_calls().all(|call| !call.id.is_empty()), "{:?}", message);
        prop_assert!(deltas.len() == 1 || deltas[0] == Delta::Start, "{:?}", deltas);
    }

    #[test]
    fn however_the_arguments_are_cut_the_message_is_the_same(
        texts in prop::collection::vec("\\{\"[a-zé🙂]{0,3}\":(\"[a-z\\\\né🙂]{0,6}\"|-?[0-9]{1,4}|\\{\\}|x)\\}?", 1..4),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..12),
        reason in prop::sample::select(vec!["tool_calls", "length"]),
    ) {
        let id = |at: usize| format!("c{at}");
        // The pieces of all calls, interleaved; each is all of its call so far.
        let mut reached = vec![0; texts.len()];
        let mut steps = Vec::new();
        let whole = (0..texts.len()).map(|at| (at, texts[at].len()));
        let cuts = cuts.iter().map(|(at, length)| {
            let at = at.index(texts.len());
            (at, length.index(texts[at].len() + 1))
        });
        for (at, length) in cuts.chain(whole) {
            let length = (length..=texts[at].len()).find(|end| texts[at].is_char_boundary(*end)).unwrap();
            reached[at] = length.max(reached[at]);
            steps.push(CallStep(piece(&id(at), "t", &texts[at][..reached[at]])));
        }
        let gathered = || texts.iter().enumerate().map(|(at, text)| {
            piece(&id(at), "t", serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.as_str().into()))
        }).collect::<Vec<_>>();
        steps.push(end_with(reason, gathered()));
        let at_once = texts.iter().enumerate().map(|(at, text)| CallStep(piece(&id(at), "t", text.as_str())));
        let at_once = message(Protocol::OpenAi, at_once.chain([end_with(reason, gathered())]));
        let mut streamed = deltas(Protocol::OpenAi, steps);
        let message = message_of(&streamed);
        let sorted = |message: AssistantMessage| {
            let mut calls: Vec<_> = message.tool_calls().cloned().collect();
            calls.sort_by(|a, b| a.id.cmp(&b.id));
            (calls, message.stop_reason)
        };
        prop_assert_eq!(sorted(message), sorted(at_once));
        streamed.retain(|delta| matches!(delta, Delta::ToolCall { .. }));
        let given: usize = streamed.iter().map(|delta| match delta {
            Delta::ToolCall { delta, .. } => delta.len(),
            _ => 0,
        }).sum();
        prop_assert_eq!(given, texts.iter().map(String::len).sum::<usize>(), "each byte is given once");
    }
}
