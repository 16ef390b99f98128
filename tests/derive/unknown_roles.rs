//! Transcripts with roles that a host does not know: kept as they came, shown, saved unchanged, skipped for the model.

use turnstate::CustomMessage;
use turnstate::message::{AgentMessage, Unknown};

use crate::json::assert_json;

/// A host's own role, and any other.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
enum HostMessage {
    /// First, so that the named role of the next one is not taken for an unknown one.
    #[message(extend)]
    Other(Unknown),
    #[message(user = "{text}")]
    Note { text: String },
    #[message(extend)]
    Plugin(Box<crate::app::plugin::PluginMessage>),
}

const MARTIAN: &str = r#"{"role":"martian","b":[1,{"x":null}],"timestamp":3}"#;

#[test]
fn an_unknown_role_is_kept_as_it_came() {
    let message: AgentMessage<Unknown> = serde_json::from_str(MARTIAN).unwrap();
    assert_eq!(message.role(), "martian");
    assert_eq!(message.timestamp(), Some(3));
    assert_eq!(message.custom().unwrap().fields["b"][0], 1);
    assert!(message.project().messages().is_empty());
    assert_eq!(serde_json::to_string(&message).unwrap(), MARTIAN);
}

#[test]
fn beside_known_roles_only_unknown_ones_are_kept_raw() {
    let other: AgentMessage<HostMessage> = serde_json::from_str(MARTIAN).unwrap();
    assert!(matches!(other.custom(), Some(HostMessage::Other(_))));
    assert_eq!(serde_json::to_string(&other).unwrap(), MARTIAN);

    assert_json(HostMessage::Note { text: "t".into() }, r#"{"role":"note","text":"t"}"#);
    let plugin = crate::app::plugin::PluginMessage::PluginNote { long_text: "p".into(), timestamp: 1 };
    assert_json(
        HostMessage::Plugin(Box::new(plugin)),
        r#"{"role":"plugin-note","long_text":"p","timestamp":1}"#,
    );
}

#[test]
fn an_unknown_message_cannot_pass_for_a_standard_one() {
    let AgentMessage::Custom(message) = serde_json::from_str::<AgentMessage<Unknown>>(MARTIAN).unwrap()
    else {
        panic!("not a custom message")
    };
    let mut unknown = Unknown::clone(&message);
    unknown.role = "user".into();
    let written = serde_json::to_string(&AgentMessage::from(unknown));
    assert_eq!(written.unwrap_err().to_string(), "a custom message cannot have the role `user`");
}
