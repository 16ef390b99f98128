//! What projections and runs allocate, counted and not timed. A binary of its own, since the counter is its allocator.

mod runs;

use std::hint::black_box;

use allocation_counter::measure;
use turnstate::CustomMessage;
use turnstate::message::{
    AgentMessage, AssistantContent, AssistantMessage, Content, Message, SystemMessage, ToolCall,
    ToolResultMessage, UserMessage,
};
use turnstate::transcript::{Projector, Repair};

#[derive(Debug, CustomMessage)]
enum AppMessage {
    #[message(skip)]
    Ui { text: String },
    #[message(user = "Note: {text}", skip_if = hidden)]
    Note { text: String, hidden: bool, timestamp: u64 },
    #[message(project = Kept::project)]
    Kept(Kept),
}

/// A message that keeps what the model sees of it.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Kept {
    seen: Message,
}

impl Kept {
    fn project(&self) -> Message {
        self.seen.clone()
    }
}

/// A turn with all four standard roles, as often as asked for.
fn standard(turns: usize) -> Vec<AgentMessage<AppMessage>> {
    let turn = |number: usize| {
        let id = format!("call_{number}");
        let call = ToolCall::new(&id, "read", serde_json::Map::new());
        [
            SystemMessage::new("Be terse.").into(),
            UserMessage::new(vec![Content::text("Read it.")]).into(),
            AssistantMessage::new(vec![AssistantContent::text("Reading."), call.into()]).into(),
            ToolResultMessage::new(id, "read", vec![Content::text("content")]).into(),
        ]
    };
    (0..turns).flat_map(turn).collect()
}

/// The allocations of one projection.
fn projecting(message: &AgentMessage<AppMessage>) -> u64 {
    measure(|| drop(black_box(message.project()))).count_total
}

#[test]
fn a_standard_message_is_projected_without_an_allocation() {
    for message in standard(1) {
        assert_eq!(projecting(&message), 0, "{}", message.role());
    }
}

#[test]
fn a_projected_transcript_of_standard_messages_costs_its_list_and_nothing_else() {
    let transcript = standard(1_000);
    let list = measure(|| {
        let mut list = Vec::new();
        for message in &transcript {
            list.push(message.clone());
        }
        drop(black_box(list));
    });
    let projected = measure(|| drop(black_box(Projector::of(Repair::Off, &transcript))));
    assert!(list.count_total > 1 && list.count_total < 20, "the list grows by doubling: {list:?}");
    // The list, and the allocation that shares it.
    assert_eq!(projected.count_total, list.count_total + 1);
}

#[test]
fn a_custom_message_costs_what_the_model_sees_of_it_and_nothing_else() {
    let ui = AppMessage::Ui { text: "text".into() };
    assert_eq!(projecting(&ui.into()), 0);
    let note = |hidden| AppMessage::Note { text: "text".into(), hidden, timestamp: 1 };
    assert_eq!(projecting(&note(true).into()), 0);
    // The text, the list of its one block, and the message.
    assert_eq!(projecting(&note(false).into()), 3);
    // One message takes no list around it.
    let kept = Kept { seen: Message::user("text") };
    assert_eq!(projecting(&AppMessage::Kept(kept).into()), 0);
}
