//! The tools: files below the current directory.

use std::fs;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use turnstate::tool::{AgentTool, ToolError, tool_fn};

/// The longest text that goes back to the model, in bytes.
const LONGEST_TEXT: usize = 64 * 1024;

#[derive(Deserialize, JsonSchema)]
struct ListFiles {
    /// The directory, relative to the current one.
    #[serde(default)]
    path: Option<String>,
}

pub(crate) fn list_files() -> AgentTool {
    tool_fn("list_files", "Lists the files of a directory.", async |args: ListFiles, _| {
        let mut names = Vec::new();
        for entry in fs::read_dir(inside(args.path.as_deref().unwrap_or("."))?)? {
            let entry = entry?;
            let slash = if entry.file_type()?.is_dir() { "/" } else { "" };
            names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
        }
        names.sort();
        Ok(names.join("\n"))
    })
    .with_label("list")
}

#[derive(Deserialize, JsonSchema)]
struct ReadFile {
    /// The file, relative to the current directory.
    path: String,
}

pub(crate) fn read_file() -> AgentTool {
    tool_fn("read_file", "Reads a text file.", async |args: ReadFile, _| {
        let text = fs::read_to_string(inside(&args.path)?)?;
        match text.char_indices().find(|(at, _)| *at >= LONGEST_TEXT) {
            None => Ok(text),
            Some((at, _)) => {
                Ok(format!("{}\n[cut off: the file has {} bytes]", text.split_at(at).0, text.len()))
            }
        }
    })
    .with_label("read")
}

#[derive(Deserialize, JsonSchema)]
struct WriteFile {
    /// The file, relative to the current directory.
    path: String,
    /// Its whole new content.
    content: String,
}

pub(crate) fn write_file() -> AgentTool {
    tool_fn("write_file", "Writes a text file.", async |args: WriteFile, _| {
        fs::write(inside(&args.path)?, &args.content)?;
        Ok(format!("Wrote {} bytes to {}.", args.content.len(), args.path))
    })
    .with_label("write")
}

/// The path, if it stays below the current directory.
fn inside(path: &str) -> Result<PathBuf, ToolError> {
    let path = Path::new(path);
    let stays = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if stays { Ok(path.to_owned()) } else { Err("Give a path below the current directory, without `..`.")? }
}
