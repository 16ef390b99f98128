//! The JSON of custom messages.

use serde_json::json;
use turnstate::CustomMessage;
use turnstate::message::{AgentMessage, Image};

use crate::app::plugin::PluginMessage;
use crate::app::{AppMessage, Author, BranchSummary, Quote};

/// Reads a message from JSON text.
#[track_caller]
fn read<M: CustomMessage>(json: &str) -> M {
    match serde_json::from_str(json).unwrap() {
        AgentMessage::Custom(message) => std::sync::Arc::into_inner(message).unwrap(),
        standard => panic!("not a custom message: {standard:?}"),
    }
}

/// The message's JSON is this text, and the text reads back as the message.
#[track_caller]
pub(crate) fn assert_json<M: CustomMessage + PartialEq>(message: M, json: &str) {
    let message = AgentMessage::from(message);
    assert_eq!(serde_json::to_string(&message).unwrap(), json);
    assert_eq!(serde_json::from_str::<AgentMessage<M>>(json).unwrap(), message);
    assert_eq!(
        serde_json::from_value::<AgentMessage<M>>(serde_json::to_value(&message).unwrap()).unwrap(),
        message
    );
    assert_eq!(serde_json::from_reader::<_, AgentMessage<M>>(json.as_bytes()).unwrap(), message);
}

#[test]
fn a_message_is_one_flat_object_with_its_role_first() {
    assert_json(
        AppMessage::Notification { text: "hi".into(), timestamp: 1 },
        r#"{"role":"notification","text":"hi","timestamp":1}"#,
    );
    assert_json(
        AppMessage::BashExecution {
            command: "ls".into(),
            output: String::new(),
            exclude_from_context: true,
            timestamp: 7,
        },
        r#"{"role":"bashExecution","command":"ls","output":"","excludeFromContext":true,"timestamp":7}"#,
    );
    assert_json(
        AppMessage::BranchSummary(BranchSummary { summary: "s".into(), from_id: Some("x".into()) }),
        r#"{"role":"branchSummary","summary":"s","fromId":"x"}"#,
    );
    assert_json(
        AppMessage::Quote(Quote {
            title: "t".into(),
            author: Author { name: "n".into(), shown: true },
            at: 4,
        }),
        r#"{"role":"quote","title":"t","author":{"name":"n","shown":true},"at":4}"#,
    );
    assert_json(
        AppMessage::Pictures {
            count: 1,
            width: 2,
            pictures: vec![Image::new("aGk=", "image/png")],
            more: None,
            sent_at: None,
        },
        r#"{"role":"pictures","count":1,"width":2,"pictures":[{"data":"aGk=","mimeType":"image/png"}],"more":null,"sentAt":null}"#,
    );
    assert_json(AppMessage::CameBack, r#"{"role":"cameBack"}"#);
    assert_json(
        AppMessage::Plugin(PluginMessage::PluginNote { long_text: "p".into(), timestamp: 3 }),
        r#"{"role":"plugin-note","long_text":"p","timestamp":3}"#,
    );
}

#[test]
fn unknown_fields_are_passed_over_and_the_role_may_stand_anywhere() {
    assert_eq!(
        read::<AppMessage>(r#"{"newer": {"a": [1]}, "text": "hi", "role": "notification", "timestamp": 1}"#),
        AppMessage::Notification { text: "hi".into(), timestamp: 1 }
    );
    assert_eq!(read::<AppMessage>(r#"{"role": "cameBack", "newer": [{}]}"#), AppMessage::CameBack);
}

#[test]
fn a_marked_field_that_is_missing_takes_its_default() {
    assert_eq!(
        read::<AppMessage>(r#"{"role": "bashExecution", "command": "ls", "output": "", "timestamp": 7}"#),
        AppMessage::BashExecution {
            command: "ls".into(),
            output: String::new(),
            exclude_from_context: false,
            timestamp: 7
        }
    );
}

#[test]
fn what_cannot_be_read_is_said() {
    let refused = [
        (r#"{"role": "notification", "text": "hi"}"#, "missing field `timestamp` at line 1 column 38"),
        (
            r#"{"role": "notification", "text": 1, "timestamp": 1}"#,
            "invalid type: integer `1`, expected a string at line 1 column 34",
        ),
        (
            r#"{"role": "martian"}"#,
            "unknown role `martian`, expected one of: system, user, assistant, toolResult, notification, \
             bashExecution, branchSummary, quote, pictures, cameBack, exchange, plugin-note at line 1 column 19",
        ),
        (r#"{"text": "hi"}"#, "missing field `role` at line 1 column 14"),
        (r#"{"role": 1}"#, "invalid type: integer `1`, expected a text at line 1 column 10"),
        (
            r#"["notification"]"#,
            "invalid type: sequence, expected an object with the field `role` at line 1 column 0",
        ),
    ];
    for (json, error) in refused {
        let read = serde_json::from_str::<AgentMessage<AppMessage>>(json);
        assert_eq!(read.unwrap_err().to_string(), error, "{json}");
    }
}

/// What serde's attributes say of fields holds; so do the names that they give to variants and types.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "kebab-case")]
enum Attributes {
    #[message(skip)]
    ManyFields {
        #[serde(rename = "type")]
        kind: String,
        #[serde(alias = "old_name")]
        new_name: String,
        #[serde(default = "seven")]
        number: u8,
        #[serde(skip)]
        skipped: u8,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        option: Option<u8>,
        #[serde(with = "as_text")]
        as_text: u8,
        #[serde(flatten)]
        rest: serde_json::Map<String, serde_json::Value>,
    },
    #[message(skip)]
    #[serde(rename = "renamed", rename_all = "PascalCase")]
    Renamed { some_field: u8 },
    #[message(skip, role = "strict", rename_all_fields = "snake_case")]
    #[serde(rename = "not this", rename_all = "UPPERCASE", deny_unknown_fields)]
    Strict { some_field: u8 },
    #[message(skip, role = "bare")]
    #[serde(deny_unknown_fields)]
    Bare,
    #[message(skip)]
    Newtype(#[serde(with = "numbers")] (u8, u8)),
}

fn seven() -> u8 {
    7
}

/// A number as text.
mod as_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(number: &u8, serializer: S) -> Result<S::Ok, S::Error> {
        number.to_string().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Two numbers as an object.
mod numbers {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Numbers {
        a: u8,
        b: u8,
    }

    pub(super) fn serialize<S: Serializer>(numbers: &(u8, u8), serializer: S) -> Result<S::Ok, S::Error> {
        Numbers { a: numbers.0, b: numbers.1 }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(u8, u8), D::Error> {
        Numbers::deserialize(deserializer).map(|numbers| (numbers.a, numbers.b))
    }
}

#[test]
fn attributes_of_serde_are_respected() {
    let many = |rest| Attributes::ManyFields {
        kind: "k".into(),
        new_name: "n".into(),
        number: 7,
        skipped: 0,
        option: None,
        as_text: 5,
        rest,
    };
    let rest: serde_json::Map<_, _> = [("extra".to_owned(), json!([1]))].into_iter().collect();
    assert_json(
        many(rest),
        r#"{"role":"MANY_FIELDS","type":"k","new-name":"n","number":7,"as-text":"5","extra":[1]}"#,
    );
    assert_eq!(
        read::<Attributes>(r#"{"role": "MANY_FIELDS", "type": "k", "old_name": "n", "as-text": "5"}"#),
        many(serde_json::Map::new())
    );
    assert_json(Attributes::Renamed { some_field: 1 }, r#"{"role":"renamed","SomeField":1}"#);
    assert_json(Attributes::Strict { some_field: 1 }, r#"{"role":"strict","some_field":1}"#);
    assert_json(Attributes::Newtype((1, 2)), r#"{"role":"NEWTYPE","a":1,"b":2}"#);

    let strict =
        serde_json::from_str::<AgentMessage<Attributes>>(r#"{"role":"strict","some_field":1,"x":1}"#);
    assert_eq!(
        strict.unwrap_err().to_string(),
        "unknown field `x`, expected `some_field` at line 1 column 35"
    );
    assert_json(Attributes::Bare, r#"{"role":"bare"}"#);
    for json in [r#"{"role":"bare","x":1}"#, r#"{"x":1,"role":"bare"}"#] {
        let bare = serde_json::from_str::<AgentMessage<Attributes>>(json).unwrap_err().to_string();
        assert!(bare.starts_with("unknown field `x`, there are no fields"), "{bare}");
    }
}

#[test]
fn a_type_may_refuse_unknown_fields_and_take_missing_ones_from_a_function() {
    #[derive(Debug, PartialEq, CustomMessage)]
    #[serde(deny_unknown_fields)]
    enum Strict {
        #[message(skip)]
        One { number: u8 },
        #[message(skip)]
        None,
    }
    let none = serde_json::from_str::<AgentMessage<Strict>>(r#"{"role":"none","x":1}"#);
    assert_eq!(none.unwrap_err().to_string(), "unknown field `x`, there are no fields at line 1 column 18");
    let strict = serde_json::from_str::<AgentMessage<Strict>>(r#"{"role":"one","number":1,"x":1}"#);
    assert_eq!(strict.unwrap_err().to_string(), "unknown field `x`, expected `number` at line 1 column 28");

    #[derive(Debug, PartialEq, CustomMessage)]
    #[message(skip)]
    #[serde(default = "settings")]
    struct Settings {
        width: u8,
        height: u8,
    }
    fn settings() -> Settings {
        Settings { width: 80, height: 24 }
    }
    assert_eq!(read::<Settings>(r#"{"role": "settings", "height": 50}"#), Settings { width: 80, height: 50 });
}

/// A struct that holds another type: there is no field that could be missing.
#[derive(Debug, Clone, PartialEq, Default, CustomMessage)]
#[serde(default)]
#[message(skip)]
struct Pair(#[serde(with = "numbers")] (u8, u8));

#[test]
fn a_default_of_a_struct_is_for_its_own_fields() {
    assert_json(Pair((1, 2)), r#"{"role":"pair","a":1,"b":2}"#);
    let half = serde_json::from_str::<AgentMessage<Pair>>(r#"{"role":"pair","a":1}"#);
    assert!(half.unwrap_err().to_string().starts_with("missing field `b`"));
}

/// A struct of one role, with a form of its own for other uses.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, CustomMessage)]
#[serde(default, rename_all = "snake_case", rename = "a_note", tag = "kind")]
#[message(role = "note", user = "{long_text}")]
struct Note {
    long_text: String,
    timestamp: u64,
}

#[test]
fn a_struct_is_one_role_and_keeps_a_json_of_its_own() {
    let note = Note { long_text: "t".into(), timestamp: 0 };
    assert_json(note.clone(), r#"{"role":"note","long_text":"t","timestamp":0}"#);
    assert_eq!(read::<Note>(r#"{"role": "note", "long_text": "t"}"#), note);
    assert_eq!(
        serde_json::to_string(&note).unwrap(),
        r#"{"kind":"a_note","long_text":"t","timestamp":0}"#,
        "the type's own form is as serde's attributes say"
    );
}

#[test]
fn a_message_that_would_not_read_back_is_not_written() {
    #[derive(Debug, CustomMessage)]
    enum Unwritable {
        #[message(skip)]
        Second {
            #[serde(flatten)]
            fields: serde_json::Map<String, serde_json::Value>,
        },
        #[message(skip)]
        Map(std::collections::BTreeMap<String, u8>),
        #[message(skip)]
        Text(String),
        #[message(skip)]
        List(Vec<u8>),
        #[message(skip)]
        Struct(HasRole),
    }

    #[derive(Debug, serde::Serialize, serde::Deserialize)]
    struct HasRole {
        role: String,
    }

    let fields = [("role".to_owned(), json!("user"))].into_iter().collect();
    let refused = [
        (Unwritable::Second { fields }, "a field of a custom message cannot be called `role`"),
        (
            Unwritable::Map([("role".to_owned(), 1)].into_iter().collect()),
            "a field of a custom message cannot be called `role`",
        ),
        (
            Unwritable::Struct(HasRole { role: "user".into() }),
            "a field of a custom message cannot be called `role`",
        ),
        (Unwritable::Text("t".into()), "the custom message `text` is not an object of fields"),
        (Unwritable::List(vec![1]), "the custom message `list` is not an object of fields"),
    ];
    for (message, error) in refused {
        let written = serde_json::to_string(&AgentMessage::from(message));
        assert_eq!(written.unwrap_err().to_string(), error);
    }
    let other_keys = Unwritable::Map([("roles".to_owned(), 1), ("rol".to_owned(), 2)].into_iter().collect());
    assert_eq!(
        serde_json::to_string(&AgentMessage::from(other_keys)).unwrap(),
        r#"{"role":"map","rol":2,"roles":1}"#
    );
}
