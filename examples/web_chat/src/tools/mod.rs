//! The tools: small and real. They work on a few notes that each conversation has in memory.

mod calculate;
mod clock;
mod notes;

use std::time::Duration;

use turnstate::tool::AgentTool;

pub(crate) use self::notes::Notes;

/// Tools that nobody is asked about. What is not in this list needs the person's permission.
pub(crate) const HARMLESS: [&str; 3] = ["clock", "calculate", "search_notes"];

/// All tools. `pace` is how long the slow ones take for one step, so that there is something to see.
pub(crate) fn all(notes: &Notes, pace: Duration) -> Vec<AgentTool> {
    vec![
        clock::clock(),
        calculate::calculate(),
        notes::search_notes(notes.clone(), pace),
        notes::delete_note(notes.clone()),
    ]
}
