//! One word for one thing, in one spelling: in the texts, and in the comments of the sources.

use std::path::Path;

use turnstate_house::{files, root, shown, text};

use crate::assert_none;
use crate::links::prose;

/// Words that are not used, and what is written instead. Small letters; whole words.
const WRONG: &[(&str, &str)] = &[
    // The terms of the crate.
    ("followup", "follow-up"),
    ("followups", "follow-ups"),
    ("follow up message", "follow-up"),
    ("steering message", "steer"),
    ("steering messages", "steers"),
    ("tool-call result", "tool result"),
    ("tool call result", "tool result"),
    ("tool response", "tool result"),
    ("function call", "tool call"),
    ("chat history", "transcript"),
    ("message history", "transcript"),
    ("message log", "transcript"),
    ("llm", "model"),
    ("chunk of text", "delta"),
    ("tool batch", "batch"),
    ("cancellation token", "abort signal"),
    ("abort token", "abort signal"),
    ("sub-agent", "agent"),
    ("subagent", "agent"),
    // British, where the two differ.
    ("behavior", "behaviour"),
    ("behaviors", "behaviours"),
    ("color", "colour"),
    ("colors", "colours"),
    ("license", "licence"),
    ("licenses", "licences"),
    ("canceled", "cancelled"),
    ("canceling", "cancelling"),
    ("catalog", "catalogue"),
    ("favor", "favour"),
    ("favorite", "favourite"),
    ("neighbor", "neighbour"),
    ("neighbors", "neighbours"),
    ("honor", "honour"),
    ("honors", "honours"),
    ("center", "centre"),
    ("gray", "grey"),
    ("labeled", "labelled"),
    ("signaled", "signalled"),
    ("modeled", "modelled"),
    ("fulfill", "fulfil"),
    ("artifact", "artefact"),
    ("artifacts", "artefacts"),
    ("defense", "defence"),
    ("analyze", "analyse"),
    ("judgment", "judgement"),
    // Slips.
    ("teh", "the"),
    ("the the", "the"),
    ("a a", "a"),
    ("is is", "is"),
    ("occured", "occurred"),
    ("recieve", "receive"),
    ("recieved", "received"),
    ("seperate", "separate"),
    ("transscript", "transcript"),
    ("thier", "their"),
    ("dependancy", "dependency"),
    ("wich", "which"),
];

/// Recordings of others, and this list.
const OTHERS: [&str; 2] = ["tests/conformance/", "tests/house/tests/checks/words.rs"];

#[test]
fn no_wrong_word_is_written() {
    let mut found = Vec::new();
    for file in files(root(), &[".md", ".rs"]) {
        if !OTHERS.iter().any(|other| shown(&file).starts_with(other)) {
            for (number, line) in written(&file).iter().enumerate() {
                let wrong = wrong_words(line).into_iter();
                found.extend(wrong.map(|(wrong, right)| {
                    format!("{}:{}: `{wrong}`, write `{right}`", shown(&file), number + 1)
                }));
            }
        }
    }
    assert_none(&found);
}

/// What a file says to people: its prose, or its comments. A line for each of its lines.
fn written(file: &Path) -> Vec<String> {
    let content = text(file);
    if file.extension().is_some_and(|extension| extension == "md") {
        return prose(&content);
    }
    let comments: Vec<&str> = content
        .lines()
        .map(|line| line.trim_start())
        .map(|line| if line.starts_with("//") { line.trim_start_matches(['/', '!']) } else { "" })
        .collect();
    prose(&comments.join("\n"))
}

fn wrong_words(line: &str) -> Vec<(&'static str, &'static str)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    // Between two backquotes there is code; what is left of it keeps its neighbours apart.
    let words: Vec<_> = line.to_lowercase().split(|c| !is_letter(c)).map(str::to_owned).collect();
    let line = format!(" {} ", words.join(" "));
    WRONG.iter().filter(|(wrong, _)| line.contains(&format!(" {wrong} "))).copied().collect()
}

#[test]
fn words_are_found_whole_and_in_prose_alone() {
    assert_eq!(
        wrong_words("Its Behavior, and a followup."),
        [("followup", "follow-up"), ("behavior", "behaviour")]
    );
    assert_eq!(wrong_words("a misbehavior-like thing, LICENSE-MIT, `` and follow_up"), []);
    assert_eq!(wrong_words("What the the model said."), [("the the", "the")]);
}
