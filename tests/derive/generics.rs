//! Types with parameters, types that hold themselves, and types that a macro writes.

use std::fmt::{Debug, Display};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnstate::CustomMessage;
use turnstate::message::{AgentMessage, Message, Role};

use crate::app::plugin::PluginMessage;
use crate::json::assert_json;
use crate::projection::user;

/// An application that any plugin can extend, with a payload of any type.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
enum Host<P, T = String, const N: usize = 1>
where
    P: CustomMessage,
    T: Payload,
{
    #[message(user = "{payload} of {N}", timestamp = at)]
    Payload {
        payload: T,
        at: Option<u64>,
        #[serde(skip)]
        size: PhantomData<[T; N]>,
    },
    #[message(skip)]
    Plain { number: u8 },
    #[message(system = "{text}")]
    Held(Held<T>),
    #[message(extend)]
    Plugin(P),
}

trait Payload: Debug + Display + Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<T: Debug + Display + Serialize + DeserializeOwned + Send + Sync + 'static> Payload for T {}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Held<T> {
    text: T,
}

/// A struct with a parameter.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
#[message(user = "{data}")]
struct Data<T: Payload> {
    data: T,
    #[serde(default)]
    timestamp: u64,
}

#[test]
fn a_generic_type_is_a_custom_message_for_what_its_bounds_allow() {
    type Message = Host<PluginMessage, u32, 3>;
    let payload = Message::Payload { payload: 5, at: Some(1), size: PhantomData };
    assert_eq!(payload.project().messages(), [user("5 of 3", 1)]);
    assert_json(payload, r#"{"role":"payload","payload":5,"at":1}"#);
    assert_json(Message::Plain { number: 1 }, r#"{"role":"plain","number":1}"#);
    assert_json(Message::Held(Held { text: 7 }), r#"{"role":"held","text":7}"#);

    let plugin = Message::Plugin(PluginMessage::PluginNote { long_text: "p".into(), timestamp: 2 });
    assert_eq!(plugin.project().messages(), [user("p", 2)]);
    assert_json(plugin, r#"{"role":"plugin-note","long_text":"p","timestamp":2}"#);

    let data = Data { data: "d".to_owned(), timestamp: 4 };
    assert_eq!(data.project().messages(), [user("d", 4)]);
    assert_json(data, r#"{"role":"data","data":"d","timestamp":4}"#);
}

#[test]
fn a_generic_type_has_the_roles_of_its_extension() {
    let roles = <Host<PluginMessage>>::ROLES.all();
    let names: Vec<_> = roles.iter().map(|role| role.name).collect();
    assert_eq!(names, ["payload", "plain", "held", "plugin-note"]);
    assert_eq!(
        roles[3],
        Role::new("plugin-note", "derive::app::plugin::PluginMessage::PluginNote"),
        "a role says where it is declared"
    );
    assert_eq!(Data::<u8>::ROLES.all(), [Role::new("data", "derive::generics::Data")]);
}

/// A message in which messages are nested.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, CustomMessage)]
#[message(user = "{text}")]
struct Thread {
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replies: Vec<Self>,
}

#[test]
fn a_message_may_hold_messages_of_its_own_type() {
    let reply = Thread { text: "b".into(), replies: vec![] };
    assert_json(
        Thread { text: "a".into(), replies: vec![reply] },
        r#"{"role":"thread","text":"a","replies":[{"text":"b"}]}"#,
    );
}

/// A macro of the user's that writes a custom message: names from its caller meet a text of its own.
macro_rules! note {
    ($name:ident, $field:ident, $ty:ty) => {
        #[derive(Debug, Clone, PartialEq, CustomMessage)]
        enum $name {
            #[message(user = "Noted: {text}", skip_if = hidden)]
            Note { $field: $ty, hidden: bool },
        }
    };
}

note!(Noted, text, String);

#[test]
fn a_macro_may_write_the_type() {
    let noted = |hidden| Noted::Note { text: "t".into(), hidden };
    assert_eq!(noted(false).project().messages(), [user("Noted: t", 0)]);
    assert!(noted(true).project().messages().is_empty());
    assert_json(noted(true), r#"{"role":"note","text":"t","hidden":true}"#);
}

/// By hand: the trait is small enough.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct ByHand {
    number: u8,
}

impl CustomMessage for ByHand {
    const ROLES: turnstate::message::Roles =
        turnstate::message::Roles::of(&[Role::new("byHand", "derive::generics::ByHand")]);

    fn role(&self) -> &str {
        "byHand"
    }

    fn project(&self) -> turnstate::message::Projection {
        Message::user(self.number.to_string()).into()
    }

    fn serialize_fields<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn deserialize_fields<'de, D: serde::Deserializer<'de>>(_: &str, fields: D) -> Result<Self, D::Error> {
        serde::Deserialize::deserialize(fields)
    }
}

#[test]
fn a_type_may_implement_the_trait_by_hand() {
    assert_json(ByHand { number: 1 }, r#"{"role":"byHand","number":1}"#);
    let host = Host::<ByHand>::Plugin(ByHand { number: 1 });
    assert_eq!(AgentMessage::from(host.clone()).project().messages(), [Message::user("1")]);
    assert_json(host, r#"{"role":"byHand","number":1}"#);
}
