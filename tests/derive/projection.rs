//! What a model sees of custom messages.

use turnstate::CustomMessage;
use turnstate::message::{AgentMessage, Content, Image, Message, SystemMessage, UserMessage};

use crate::app::plugin::PluginMessage;
use crate::app::{AppMessage, Author, BranchSummary, Quote};

fn user(text: &str, timestamp: u64) -> Message {
    UserMessage::new(vec![Content::text(text)]).at(timestamp).into()
}

#[test]
fn each_role_is_seen_as_it_says() {
    let quote = |shown| {
        let author = Author { name: "Ada".into(), shown };
        AppMessage::Quote(Quote { title: "Notes".into(), author, at: 4 })
    };
    let bash = |exclude_from_context| AppMessage::BashExecution {
        command: "ls".into(),
        output: "a.txt".into(),
        exclude_from_context,
        timestamp: 7,
    };
    let image = || Image::new("aGk=", "image/png");
    let pictures = |more| AppMessage::Pictures {
        count: 2,
        width: 3,
        pictures: vec![image(), image()],
        more,
        sent_at: Some(9),
    };
    let seen: [(AppMessage, Vec<Message>); 9] = [
        (AppMessage::Notification { text: "hi".into(), timestamp: 1 }, vec![]),
        (bash(false), vec![user("Ran `ls`:\na.txt", 7)]),
        (bash(true), vec![]),
        (
            AppMessage::BranchSummary(BranchSummary { summary: "left".into(), from_id: None }),
            vec![UserMessage::new("left").into()],
        ),
        (quote(true), vec![SystemMessage::new("Notes: Ada says NOTES").at(4).into()]),
        (quote(false), vec![]),
        (
            pictures(Some(Content::text("end"))),
            vec![
                UserMessage::new(vec![
                    Content::text("Look,   2:"),
                    image().into(),
                    image().into(),
                    Content::text("end"),
                ])
                .at(9)
                .into(),
            ],
        ),
        (AppMessage::CameBack, vec![user("The person came back.", 0)]),
        (
            AppMessage::Plugin(PluginMessage::PluginNote { long_text: "p".into(), timestamp: 3 }),
            vec![user("p", 3)],
        ),
    ];
    for (message, expected) in seen {
        assert_eq!(message.project().messages(), expected, "{message:?}");
    }
}

#[test]
fn a_message_without_a_time_takes_the_custom_messages_time() {
    let message = AppMessage::Exchange { question: "q".into(), answer: "a".into(), timestamp: 10 };
    let times: Vec<_> = message.project().into_iter().map(|message| message.timestamp()).collect();
    assert_eq!(times, [10, 11]);
}

#[test]
fn json_is_flat() {
    let message: AgentMessage<AppMessage> = AgentMessage::Custom(
        AppMessage::BashExecution {
            command: "ls".into(),
            output: "a".into(),
            exclude_from_context: true,
            timestamp: 7,
        }
        .into(),
    );
    let json = serde_json::to_string(&message).unwrap();
    assert_eq!(
        json,
        r#"{"role":"bashExecution","command":"ls","output":"a","excludeFromContext":true,"timestamp":7}"#
    );
    let back: AgentMessage<AppMessage> = serde_json::from_str(&json).unwrap();
    assert_eq!(back, message);
    let note: AgentMessage<AppMessage> =
        serde_json::from_str(r#"{"long_text": "x", "timestamp": 1, "newer": [], "role": "plugin-note"}"#)
            .unwrap();
    assert_eq!(note.role(), "plugin-note");
}
