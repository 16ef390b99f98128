//! What a model sees of custom messages.

use turnstate::CustomMessage;
use turnstate::message::{
    AgentMessage, AssistantMessage, Content, ContentField, Image, Message, Projection, SystemMessage,
    Timestamp, TimestampField, UserMessage,
};

use crate::app::plugin::PluginMessage;
use crate::app::{AppMessage, Author, BranchSummary, Quote};

/// The user message that a template makes: one block of text.
pub(crate) fn user(text: &str, timestamp: u64) -> Message {
    UserMessage::new(vec![Content::text(text)]).at(timestamp).into()
}

fn bash(exclude_from_context: bool) -> AppMessage {
    AppMessage::BashExecution {
        command: "ls".into(),
        output: "a.txt".into(),
        exclude_from_context,
        timestamp: 7,
    }
}

fn quote(shown: bool) -> AppMessage {
    AppMessage::Quote(Quote { title: "Notes".into(), author: Author { name: "Ada".into(), shown }, at: 4 })
}

fn image() -> Image {
    Image::new("aGk=", "image/png")
}

fn pictures(count: usize, more: Option<Content>) -> AppMessage {
    AppMessage::Pictures { count, width: 3, pictures: vec![image(); count], more, sent_at: Some(9) }
}

#[test]
fn each_role_is_seen_as_it_says() {
    let pictures_seen =
        vec![Content::text("Look,   2:"), image().into(), image().into(), Content::text("the end")];
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
        (pictures(2, Some(Content::text("the end"))), vec![UserMessage::new(pictures_seen).at(9).into()]),
        (AppMessage::CameBack, vec![user("The person came back.", 0)]),
        (
            AppMessage::Plugin(PluginMessage::PluginNote { long_text: "p".into(), timestamp: 3 }),
            vec![user("p", 3)],
        ),
    ];
    for (message, expected) in seen {
        assert_eq!(message.project().messages(), expected, "{message:?}");
        assert_eq!(AgentMessage::from(message).project().messages(), expected);
    }
}

#[test]
fn a_custom_message_tells_its_time() {
    let times = [
        (bash(true), Some(7)),
        (quote(true), Some(4)),
        (pictures(0, None), Some(9)),
        (AppMessage::CameBack, None),
        (AppMessage::Plugin(PluginMessage::PluginNote { long_text: String::new(), timestamp: 3 }), Some(3)),
    ];
    for (message, time) in times {
        assert_eq!(message.timestamp(), time, "{message:?}");
        assert_eq!(AgentMessage::from(message).timestamp(), time);
    }
}

#[test]
fn what_a_function_returns_takes_the_custom_messages_time_where_it_has_none() {
    let exchange = AppMessage::Exchange { question: "q".into(), answer: "a".into(), timestamp: 10 };
    let seen = exchange.project();
    assert_eq!(seen.messages()[0], UserMessage::new("q").at(10).into());
    assert_eq!(seen.messages()[1].timestamp(), 11);
    assert_eq!(seen.messages().len(), 2);
}

/// A message of each kind of function.
#[derive(Debug, CustomMessage)]
enum Functions {
    #[message(project = one)]
    One,
    #[message(project = one_of_a_role)]
    OneOfARole,
    #[message(project = maybe(*wanted))]
    Maybe { wanted: bool },
    #[message(project = Self::list)]
    List { texts: Vec<String> },
    #[message(project = projection(), skip_if = !wanted(*number, name.len()))]
    Projection { number: usize, name: String },
    #[message(project = <str as Shout>::shout(text), timestamp = times.1)]
    Trait { text: String, times: (u64, u64) },
}

fn one(_: &Functions) -> Message {
    Message::user("one")
}

fn one_of_a_role(_: &Functions) -> UserMessage {
    UserMessage::new("one of a role")
}

fn maybe(wanted: bool) -> Option<Message> {
    wanted.then(|| Message::user("maybe"))
}

fn projection() -> Projection {
    Projection::from_iter([Message::user("a"), Message::system("b")])
}

fn wanted(number: usize, name_length: usize) -> bool {
    number == name_length
}

impl Functions {
    fn list(&self) -> Vec<UserMessage> {
        let Self::List { texts } = self else { return Vec::new() };
        texts.iter().map(|text| UserMessage::new(text.as_str())).collect()
    }
}

trait Shout {
    fn shout(&self) -> Message;
}

impl Shout for str {
    fn shout(&self) -> Message {
        Message::user(self.to_uppercase())
    }
}

#[test]
fn a_function_gets_the_message_or_what_is_named_and_returns_any_number_of_messages() {
    let texts = vec!["x".to_owned(), "y".to_owned()];
    let seen: [(Functions, Vec<Message>); 8] = [
        (Functions::One, vec![Message::user("one")]),
        (Functions::OneOfARole, vec![Message::user("one of a role")]),
        (Functions::Maybe { wanted: true }, vec![Message::user("maybe")]),
        (Functions::Maybe { wanted: false }, vec![]),
        (Functions::List { texts }, vec![Message::user("x"), Message::user("y")]),
        (
            Functions::Projection { number: 1, name: "n".into() },
            vec![Message::user("a"), Message::system("b")],
        ),
        (Functions::Projection { number: 2, name: "n".into() }, vec![]),
        (Functions::Trait { text: "t".into(), times: (1, 2) }, vec![UserMessage::new("T").at(2).into()]),
    ];
    for (message, expected) in seen {
        assert_eq!(message.project().messages(), expected, "{message:?}");
    }
}

/// Texts with what `format!` allows.
#[derive(Debug, CustomMessage)]
enum Templates {
    #[message(user = r#"{{"text": {text:?}}} {text:>width$.1} {LIMIT}"#)]
    Specs { text: String, width: usize },
    #[message(user = "{times.0}-{times.1} {text.len():02} {text} {number():x}")]
    Parts { times: (u8, u8), text: String },
    #[message(system = "no placeholder, but {{braces}}")]
    Braces { unused: bool },
    #[message(user = "{type} {r#in.len()}", skip_if = r#in.is_empty())]
    Keywords { r#type: String, r#in: String },
    #[message(user = "")]
    Empty { text: String },
}

/// A constant in scope may stand in a text, as in every `format!`.
const LIMIT: u8 = 3;

impl Templates {
    fn number(&self) -> u32 {
        255
    }
}

#[test]
fn a_template_may_say_what_format_may() {
    let seen = [
        (Templates::Specs { text: "a\"b".into(), width: 4 }, r#"{"text": "a\"b"}    a 3"#),
        (Templates::Parts { times: (1, 2), text: "abc".into() }, "1-2 03 abc ff"),
        (Templates::Keywords { r#type: "t".into(), r#in: "xy".into() }, "t 2"),
        (Templates::Empty { text: "unused".into() }, ""),
    ];
    for (message, text) in seen {
        assert_eq!(message.project().messages(), [user(text, 0)], "{message:?}");
    }
    let braces = Templates::Braces { unused: true };
    assert_eq!(braces.project().messages(), [Message::system("no placeholder, but {braces}")]);
}

/// Content and times of the user's own types.
#[derive(Debug, CustomMessage)]
enum Contents {
    #[message(user = "", content = shot.image)]
    Place { shot: Shot },
    #[message(user = "Shot:")]
    Newtype(#[message(content, timestamp)] Shot),
    #[message(user = "{caption}", content = image, timestamp = self_time())]
    InNewtype(Captioned),
}

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Shot {
    image: Image,
    taken: u64,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Captioned {
    caption: String,
    image: Option<Image>,
}

impl Captioned {
    fn self_time(&self) -> Option<u64> {
        Some(6)
    }
}

impl ContentField for Shot {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        blocks.push(self.image.clone().into());
    }
}

impl TimestampField for Shot {
    fn timestamp(&self) -> Option<Timestamp> {
        Some(self.taken)
    }
}

#[test]
fn content_and_time_may_be_parts_of_fields_and_types_of_the_users_own() {
    let shot = || Shot { image: image(), taken: 5 };
    let seen: [(Contents, UserMessage); 4] = [
        // No text, and blocks: there is no empty block of text before them.
        (Contents::Place { shot: shot() }, UserMessage::new(vec![image().into()])),
        (Contents::Newtype(shot()), UserMessage::new(vec![Content::text("Shot:"), image().into()]).at(5)),
        (
            Contents::InNewtype(Captioned { caption: "c".into(), image: Some(image()) }),
            UserMessage::new(vec![Content::text("c"), image().into()]).at(6),
        ),
        (
            Contents::InNewtype(Captioned { caption: String::new(), image: None }),
            UserMessage::new(vec![Content::text("")]).at(6),
        ),
    ];
    for (message, expected) in seen {
        assert_eq!(message.project().messages(), [expected.into()], "{message:?}");
    }
}

#[test]
fn an_answer_of_the_model_can_be_a_projection() {
    #[derive(Debug, CustomMessage)]
    #[message(project = answer(text))]
    struct Said {
        text: String,
        timestamp: u64,
    }
    fn answer(text: &str) -> AssistantMessage {
        AssistantMessage::new(vec![turnstate::message::AssistantContent::text(text)])
    }
    let said = Said { text: "yes".into(), timestamp: 8 };
    assert_eq!(said.project().messages(), [answer("yes").at(8).into()]);
}
