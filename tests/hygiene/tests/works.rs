//! The expansions in hostile surroundings do what they do elsewhere.

use renamed::message::{AgentMessage, Content, Projection, SystemMessage, UserMessage};
use renamed::{CustomMessage, message};
use turnstate_hygiene::hostile_names::{self, S};
use turnstate_hygiene::lints::{All, Left, Mixed, Note, Nothing};
use turnstate_hygiene::no_prelude::{AppMessage, Held, PluginNote};

fn user(text: &str) -> UserMessage {
    UserMessage::new(vec![Content::text(text)])
}

/// The message's JSON is this, and reads back as a message with the same JSON.
#[track_caller]
fn assert_json<M: CustomMessage>(message: M, json: &str) {
    let message = AgentMessage::from(message);
    assert_eq!(serde_json::to_string(&message).ok().as_deref(), Some(json));
    let read: Result<AgentMessage<M>, _> = serde_json::from_str(json);
    assert_eq!(read.ok().and_then(|read| serde_json::to_string(&read).ok()).as_deref(), Some(json));
}

#[test]
fn without_a_prelude() {
    let shown = AppMessage::ForModels {
        text: "t".into(),
        parts: vec![Content::text("p")],
        hidden: false,
        at: Some(5),
    };
    let seen = UserMessage::new(vec![Content::text("t 1 1"), Content::text("p")]).at(5);
    assert_eq!(shown.project(), Projection::one(seen));
    assert_json(
        shown,
        r#"{"role":"for_models","text":"t","parts":[{"type":"text","text":"p"}],"hidden":false,"at":5}"#,
    );

    let skipped = AppMessage::NotForModels { some_text: "t".into(), timestamp: 3 };
    assert_eq!(skipped.project(), Projection::none());
    assert_json(skipped, r#"{"role":"not_for_models","some-text":"t","timestamp":3}"#);

    let held = AppMessage::Held(Held { text: "t".into() });
    assert_eq!(held.project(), Projection::one(user("t")));
    assert_json(held, r#"{"role":"held","text":"t"}"#);

    let empty = AppMessage::Instructions { text: String::new() };
    assert_eq!(empty.project(), Projection::none());

    let function = AppMessage::Function;
    assert_eq!(function.project(), Projection::one(message::Message::user("0")));
    assert_json(function, r#"{"role":"function"}"#);

    let plugin = AppMessage::Plugin(PluginNote { text: "t".into() });
    assert_eq!(plugin.project(), Projection::one(user("t")));
    assert_json(plugin, r#"{"role":"pluginNote","text":"t"}"#);
}

#[test]
fn under_hostile_names() {
    type Message = hostile_names::Message<All, u8, 2>;

    let locals = Message::Locals {
        role: 1,
        serializer: "2".into(),
        fields: "3".into(),
        field0: "4".into(),
        command: "5".into(),
        r#type: "6".into(),
        hidden: false,
        field1: 7,
    };
    assert_eq!(locals.project(), Projection::one(user("123456")));
    assert_json(
        locals,
        r#"{"role":"locals","part":1,"serializer":"2","fields":"3","field0":"4","command":"5","type":"6","hidden":false,"field1":7}"#,
    );
    let option = Message::Option { self_: 1, r#type: "t".into(), timestamp: 9 };
    assert_eq!(option.project(), Projection::one(SystemMessage::new("1t").at(9)));
    assert_json(Message::Result, r#"{"role":"result"}"#);
    assert_json(Message::Numbers { numbers: [0], it: std::marker::PhantomData }, r#"{"role":"numbers"}"#);
    assert_json(Message::turnstate(All::Left(Box::new(Left))), r#"{"role":"left"}"#);
    assert_json(Message::S(S::Some { text: "t".into() }), r#"{"role":"some","text":"t"}"#);
}

#[test]
fn under_denied_lints() {
    let note = Note { first: "1".into(), second: "2".into(), shown: true, timestamp: 8 };
    assert_eq!(note.project(), Projection::one(user("1 2").at(8)));
    assert_json(All::Note(note), r#"{"role":"note","first":"1","second":"2","shown":true,"timestamp":8}"#);
    assert_eq!(All::Left(Box::new(Left)).project(), Projection::one(SystemMessage::new("The person left.")));
    assert_eq!(Mixed::Small.project(), Projection::none());
    assert_json(
        Mixed::Flags { a: true, b: false, c: false, d: false },
        r#"{"role":"flags","a":true,"b":false,"c":false,"d":false}"#,
    );
    assert!(Nothing::ROLES.all().is_empty());
}
