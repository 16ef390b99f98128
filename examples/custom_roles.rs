//! One transcript, seen by two: what a person sees of it, and what the model sees.
//!
//! ```text
//! cargo run --example custom_roles
//! ```

#![allow(clippy::expect_used, reason = "an example that shows what holds")]

use futures::executor::block_on;
use turnstate::message::{AgentMessage, Content, Message, UserMessage};
use turnstate::testing::{Response, ScriptedModel};
use turnstate::{CustomMessage, Run};

/// The application's own roles. Each says what the model sees of it: a role that does not, does not compile.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
enum ChatMessage {
    /// Shown to the person only.
    #[message(skip)]
    Notification { text: String },
    /// Reaches the model as a user message, unless the person has excluded it.
    #[message(user = "Ran `{command}`:\n{output}", skip_if = excluded)]
    BashExecution { command: String, output: String, excluded: bool },
    /// Becomes two messages: the file's name, then its content.
    #[message(project = Attachment::project)]
    Attachment(Attachment),
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Attachment {
    name: String,
    content: String,
}

impl Attachment {
    fn project(&self) -> Vec<Message> {
        let name = format!("The person attached {}.", self.name);
        [name, self.content.clone()].map(|text| UserMessage::new(vec![Content::text(text)]).into()).into()
    }
}

fn main() {
    let model = ScriptedModel::new([Response::text("Two tests fail; the log says why.")]);
    let idle =
        Run::builder(model.clone()).custom_messages::<ChatMessage>().system_prompt("Be brief.").build();
    let idle = block_on(idle.prompt(conversation()).finish());

    println!("What the person sees");
    for message in idle.transcript().iter() {
        println!("  {}", for_the_person(message));
    }
    println!("\nWhat the model sees");
    for request in model.requests() {
        for message in request.messages.iter() {
            println!("  {}", for_the_model(message));
        }
    }
    let saved = serde_json::to_string(idle.transcript()).expect("a transcript is plain JSON");
    let loaded = serde_json::from_str(&saved).expect("what was saved loads");
    assert_eq!(*idle.transcript(), loaded, "a saved transcript loads as it was");
}

fn conversation() -> Vec<AgentMessage<ChatMessage>> {
    vec![
        ChatMessage::Notification { text: "The tests were started.".into() }.into(),
        ChatMessage::BashExecution {
            command: "cargo test".into(),
            output: "2 failed".into(),
            excluded: false,
        }
        .into(),
        ChatMessage::BashExecution { command: "env".into(), output: "SECRET=…".into(), excluded: true }
            .into(),
        ChatMessage::Attachment(Attachment { name: "log.txt".into(), content: "assertion failed".into() })
            .into(),
        AgentMessage::user("What is wrong?"),
    ]
}

fn for_the_person(message: &AgentMessage<ChatMessage>) -> String {
    match message {
        AgentMessage::System(_) => "[the rules of the conversation]".into(),
        AgentMessage::User(user) => format!("you: {}", user.content.texts().collect::<String>()),
        AgentMessage::Assistant(answer) => format!("agent: {}", answer.texts().collect::<String>()),
        AgentMessage::ToolResult(result) => format!("{} is done", result.tool_name),
        AgentMessage::Custom(custom) => match &**custom {
            ChatMessage::Notification { text } => format!("({text})"),
            ChatMessage::BashExecution { command, excluded, .. } => {
                format!("$ {command}{}", if *excluded { "   (kept from the model)" } else { "" })
            }
            ChatMessage::Attachment(file) => format!("+ {}", file.name),
        },
    }
}

fn for_the_model(message: &Message) -> String {
    let text: String = match message {
        Message::System(system) => system.content.joined(),
        Message::User(user) => user.content.texts().collect(),
        Message::Assistant(answer) => answer.texts().collect(),
        Message::ToolResult(result) => result.texts().collect(),
    };
    format!("{}: {}", message.role(), text.replace('\n', " ⏎ "))
}
