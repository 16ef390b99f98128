//! A few notes: searched slowly, so that progress can be seen, and deleted only with the person's permission.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use turnstate::tool::{AgentTool, ToolOutput, tool_fn};

/// The notes of one conversation.
#[derive(Clone)]
pub(crate) struct Notes(Arc<Mutex<Vec<Note>>>);

#[derive(Clone)]
struct Note {
    title: &'static str,
    text: &'static str,
}

/// What everybody starts with. The last two are as text is in the wild.
const NOTES: [Note; 8] = [
    Note { title: "Dentist", text: "Wednesday at 9:30, bring the insurance card." },
    Note { title: "Garden", text: "Plant the tulips before the first frost. Water the fig on Saturday." },
    Note { title: "Bread", text: "500 g flour, 350 g water, 10 g salt, 2 g yeast; a night in the fridge." },
    Note { title: "Reading group", text: "Thursday at 19:00, chapters 4 to 6." },
    Note { title: "Old shopping list", text: "Milk, rice, batteries." },
    Note { title: "Week", text: "Finish the report by Friday. Call Maria on Monday." },
    Note {
        title: "Markup",
        text: "<script>window.hacked = 1</script> <img src=x onerror=\"window.hacked = 1\">",
    },
    Note { title: "Link", text: "[click me](javascript:window.hacked=1) and **bold** text" },
];

impl Default for Notes {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(NOTES.to_vec())))
    }
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Vec<Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Deserialize, JsonSchema)]
struct SearchNotes {
    /// A word that the note has in its title or text.
    query: String,
}

pub(crate) fn search_notes(notes: Notes, pace: Duration) -> AgentTool {
    tool_fn("search_notes", "Searches the person's notes.", async move |args: SearchNotes, cx| {
        let query = args.query.to_lowercase();
        let notes = notes.lock().clone();
        // Longer questions take longer, so that two searches do not end together.
        let step = pace * (6 + u32::try_from(query.len()).unwrap_or(u32::MAX).min(12));
        let mut found = Vec::new();
        for (looked_at, note) in notes.iter().enumerate() {
            cx.update(format!("Looked at {looked_at} of {} notes, found {}", notes.len(), found.len()));
            tokio::time::sleep(step).await;
            if note.title.to_lowercase().contains(&query) || note.text.to_lowercase().contains(&query) {
                found.push(format!("{}: {}", note.title, note.text));
            }
        }
        if found.is_empty() {
            return Ok(ToolOutput::text(format!("No note has “{}”.", args.query)));
        }
        Ok(ToolOutput::text(found.join("\n")))
    })
}

#[derive(Deserialize, JsonSchema)]
struct DeleteNote {
    /// The note's whole title.
    title: String,
}

pub(crate) fn delete_note(notes: Notes) -> AgentTool {
    tool_fn("delete_note", "Deletes a note for good.", async move |args: DeleteNote, _| {
        let mut notes = notes.lock();
        let at = notes.iter().position(|note| note.title.eq_ignore_ascii_case(&args.title));
        let at = at.ok_or_else(|| format!("No note has the title “{}”. Search for it first.", args.title))?;
        let note = notes.remove(at);
        Ok(format!("Deleted “{}”.", note.title))
    })
}
