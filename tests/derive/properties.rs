//! Laws of transcripts with custom messages of a derived type.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use turnstate::message::{
    AgentMessage, AssistantContent, AssistantMessage, Content, Image, Message, SystemMessage, ToolCall,
    ToolResultMessage, UserMessage,
};
use turnstate::transcript::{Projector, Repair};
use turnstate::{CustomMessage, Transcript};

use crate::app::plugin::PluginMessage;
use crate::app::{AppMessage, Author, BranchSummary, Quote};

type Any = AgentMessage<AppMessage>;

fn config() -> ProptestConfig {
    let regressions = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(regressions)), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_transcript_reads_back_as_it_was_written(transcript in any_transcript()) {
        let text = serde_json::to_string(&transcript).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Transcript<AppMessage>>(&text).unwrap(), &transcript);
        // A value has its keys in another order, so the role comes anywhere among the fields.
        let value = serde_json::to_value(&transcript).unwrap();
        prop_assert_eq!(&serde_json::from_value::<Transcript<AppMessage>>(value).unwrap(), &transcript);
    }

    #[test]
    fn what_is_written_of_a_custom_message_is_flat_and_says_its_role(message in any_custom()) {
        let value = serde_json::to_value(AgentMessage::from(message.clone())).unwrap();
        prop_assert_eq!(value["role"].as_str(), Some(message.role()));
        prop_assert!(AppMessage::ROLES.names(message.role()));
        let text = serde_json::to_string(&AgentMessage::from(message)).unwrap();
        let first = text.starts_with(r#"{"role":"#);
        prop_assert!(first, "{}", text);
        let roles = text.matches(r#""role":"#).count();
        prop_assert_eq!(roles, 1);
    }

    #[test]
    fn the_projection_of_a_transcript_is_that_of_its_messages_in_order(transcript in any_transcript()) {
        let one_by_one: Vec<Message> = transcript.iter().flat_map(|message| message.project()).collect();
        let whole = Projector::of(Repair::Off, &transcript).messages();
        prop_assert_eq!(&whole[..], &one_by_one[..]);
    }

    #[test]
    fn a_projection_is_the_same_each_time_and_has_the_messages_time(message in any_custom()) {
        let seen = message.project();
        prop_assert_eq!(&message.project(), &seen);
        if let Some(time) = message.timestamp() {
            prop_assert!(seen.messages().iter().all(|seen| seen.timestamp() == time || seen.timestamp() == time + 1));
        }
    }

    #[test]
    fn a_transcript_goes_to_raw_messages_and_back(transcript in any_transcript()) {
        let raw = transcript.convert::<turnstate::message::Unknown>().unwrap();
        prop_assert_eq!(serde_json::to_value(&raw).unwrap(), serde_json::to_value(&transcript).unwrap());
        prop_assert_eq!(raw.convert::<AppMessage>().unwrap(), transcript);
    }
}

fn any_transcript() -> impl Strategy<Value = Transcript<AppMessage>> {
    vec(prop_oneof![any_standard(), any_custom().prop_map(Any::from)], 0..12)
        .prop_map(|messages| messages.into_iter().collect())
}

/// Any text but one that looks like a role to the test that counts them.
fn text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| text.replace("role", ""))
}

fn any_standard() -> impl Strategy<Value = Any> {
    prop_oneof![
        (text(), any::<u64>()).prop_map(|(text, at)| SystemMessage::new(text).at(at).into()),
        (text(), any::<u64>()).prop_map(|(text, at)| UserMessage::new(text).at(at).into()),
        (text(), text(), any::<u64>()).prop_map(|(text, id, at)| {
            let call = ToolCall::new(id, "tool", serde_json::Map::new());
            AssistantMessage::new(vec![AssistantContent::text(text), call.into()]).at(at).into()
        }),
        (text(), vec(content(), 0..3))
            .prop_map(|(id, content)| ToolResultMessage::new(id, "tool", content).into()),
    ]
}

fn image() -> impl Strategy<Value = Image> {
    text().prop_map(|data| Image::new(data, "image/png"))
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![text().prop_map(Content::text), image().prop_map(Content::from)]
}

fn any_custom() -> impl Strategy<Value = AppMessage> {
    // A time whose successor is a time too, since one projection adds one.
    let time = || 1..u64::MAX;
    prop_oneof![
        (text(), time()).prop_map(|(text, timestamp)| AppMessage::Notification { text, timestamp }),
        (text(), text(), any::<bool>(), time()).prop_map(
            |(command, output, exclude_from_context, timestamp)| AppMessage::BashExecution {
                command,
                output,
                exclude_from_context,
                timestamp
            }
        ),
        (text(), option::of(text()))
            .prop_map(|(summary, from_id)| AppMessage::BranchSummary(BranchSummary { summary, from_id })),
        (text(), text(), any::<bool>(), time()).prop_map(|(title, name, shown, at)| {
            AppMessage::Quote(Quote { title, author: Author { name, shown }, at })
        }),
        (0..9_usize, 0..9_usize, vec(image(), 0..3), option::of(content()), option::of(time())).prop_map(
            |(count, width, pictures, more, sent_at)| AppMessage::Pictures {
                count,
                width,
                pictures,
                more,
                sent_at
            }
        ),
        Just(AppMessage::CameBack),
        (text(), text(), time()).prop_map(|(question, answer, timestamp)| AppMessage::Exchange {
            question,
            answer,
            timestamp
        }),
        (text(), time()).prop_map(|(long_text, timestamp)| {
            AppMessage::Plugin(PluginMessage::PluginNote { long_text, timestamp })
        }),
    ]
}
