//! The answer that streams, as far as it came: block by block, as the page grows it too.

use serde::Serialize;
use turnstate::model::Delta;

/// An answer that streams.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Answer {
    blocks: Vec<Block>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Block {
    index: u32,
    kind: BlockKind,
    /// The call's id, of a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The tool, of a tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Of a tool call: the JSON text of its arguments.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum BlockKind {
    Text,
    Thinking,
    ToolCall,
}

/// What an answer grew by.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(crate) enum Piece {
    /// A block begins.
    Block { block: NewBlock },
    /// A block grew by a text.
    Text { index: u32, text: String },
}

/// A block that begins, without text.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(crate) struct NewBlock(Block);

impl Answer {
    /// Takes over a delta; `None` if it shows nothing.
    pub(crate) fn grow(&mut self, delta: &Delta) -> Option<Piece> {
        match delta {
            Delta::TextStart { index } => Some(self.begin(*index, BlockKind::Text, None)),
            Delta::ThinkingStart { index } => Some(self.begin(*index, BlockKind::Thinking, None)),
            Delta::ToolCallStart { index, call } => {
                Some(self.begin(*index, BlockKind::ToolCall, Some((&call.id, &call.name))))
            }
            Delta::Text { index, delta }
            | Delta::Thinking { index, delta }
            | Delta::ToolCall { index, delta } => self.add(*index, delta),
            // The others end a block or the answer: the complete message says all of it.
            _ => None,
        }
    }

    fn begin(&mut self, index: u32, kind: BlockKind, call: Option<(&String, &String)>) -> Piece {
        let (id, name) = call.map(|(id, name)| (id.clone(), name.clone())).unzip();
        let block = Block { index, kind, id, name, text: String::new() };
        self.blocks.push(block.clone());
        Piece::Block { block: NewBlock(block) }
    }

    fn add(&mut self, index: u32, text: &str) -> Option<Piece> {
        // Almost always the last one.
        let block = self.blocks.iter_mut().rev().find(|block| block.index == index)?;
        block.text.push_str(text);
        (!text.is_empty()).then(|| Piece::Text { index, text: text.to_owned() })
    }
}
