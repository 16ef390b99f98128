//! Taking messages and transcripts to a run with custom messages of another type.

use std::error::Error;
use std::sync::Arc;

use turnstate::message::{AgentMessage, NoCustom, Unknown};
use turnstate::{CustomMessage, Transcript};

use crate::app::AppMessage;
use crate::app::plugin::PluginMessage;

fn note(text: &str) -> PluginMessage {
    PluginMessage::PluginNote { long_text: text.into(), timestamp: 3 }
}

#[test]
fn a_transcript_without_custom_messages_fits_every_run() {
    let transcript: Transcript =
        [AgentMessage::user("hi"), AgentMessage::system("terse")].into_iter().collect();
    let widened: Transcript<AppMessage> = transcript.widen();
    assert_eq!(serde_json::to_value(&widened).unwrap(), serde_json::to_value(&transcript).unwrap());

    let (AgentMessage::User(before), AgentMessage::User(after)) = (&transcript[0], &widened[0]) else {
        panic!("not user messages")
    };
    assert!(Arc::ptr_eq(before, after), "standard messages are shared");

    let read: Transcript<AppMessage> =
        serde_json::from_str(&serde_json::to_string(&transcript).unwrap()).unwrap();
    assert_eq!(read, widened);
}

#[test]
fn a_custom_message_becomes_the_one_with_the_same_role_and_fields() {
    let transcript: Transcript<PluginMessage> =
        [AgentMessage::user("hi"), note("n").into()].into_iter().collect();
    let converted = transcript.convert::<AppMessage>().unwrap();
    assert_eq!(converted[1], AppMessage::Plugin(note("n")).into());

    let raw = converted.convert::<Unknown>().unwrap();
    assert_eq!(raw[1].role(), "plugin-note");
    let back = raw.convert::<PluginMessage>().unwrap();
    assert_eq!(back, transcript);
}

#[test]
fn a_custom_message_of_the_same_type_is_shared() {
    let message = AgentMessage::from(note("n"));
    let same = message.convert::<PluginMessage>().unwrap();
    let (AgentMessage::Custom(before), AgentMessage::Custom(after)) = (&message, &same) else {
        panic!("not custom messages")
    };
    assert!(Arc::ptr_eq(before, after));
}

#[test]
fn a_role_that_the_other_type_does_not_have_is_an_error_that_names_it() {
    let transcript: Transcript<PluginMessage> =
        [AgentMessage::user("hi"), note("n").into()].into_iter().collect();
    let error = transcript.convert::<NoCustom>().unwrap_err();
    assert_eq!(error.index, 1);
    assert_eq!(error.to_string(), "the transcript's message 1 cannot be converted");
    assert_eq!(
        error.source().unwrap().to_string(),
        "no custom message of the other type has the role `plugin-note`"
    );
}

#[test]
fn fields_that_do_not_fit_are_an_error_that_says_which() {
    #[derive(Debug, CustomMessage)]
    #[message(role = "plugin-note", skip)]
    struct Other {
        number: u8,
    }
    let error = AgentMessage::from(note("n")).convert::<Other>().unwrap_err();
    assert_eq!(error.to_string(), "the fields of the custom message `plugin-note` do not fit the other type");
    assert_eq!(error.source().unwrap().to_string(), "missing field `number`");
}

#[test]
fn a_function_may_put_anything_in_a_custom_messages_place() {
    let shown = AgentMessage::from(note("n"))
        .map_custom::<NoCustom>(|note| AgentMessage::user(format!("It said {}.", note.role())));
    assert_eq!(shown, AgentMessage::user("It said plugin-note."));

    let refused = AgentMessage::from(note("n")).try_map_custom::<NoCustom, _>(|_| Err("no"));
    assert_eq!(refused, Err("no"));
    let standard = AgentMessage::<PluginMessage>::user("hi").try_map_custom::<NoCustom, &str>(|_| Err("no"));
    assert_eq!(standard, Ok(AgentMessage::user("hi")));
}
