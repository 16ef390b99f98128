//! The tools. Those that take a path refuse to leave the current folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use turnstate::tool::{AgentTool, ToolError, tool_fn};

use crate::shell;

/// The longest text of a file that goes back to the model, in bytes.
const LONGEST_TEXT: usize = 64 * 1024;

/// All tools, for this folder.
pub(crate) fn all(folder: &Folder) -> [AgentTool; 4] {
    [
        list_files(folder.clone()),
        read_file(folder.clone()),
        write_file(folder.clone()),
        run_command(folder.clone()),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct ListFiles {
    /// The directory, relative to the current folder.
    #[serde(default)]
    path: Option<String>,
}

fn list_files(folder: Folder) -> AgentTool {
    tool_fn("list_files", "Lists the files of a directory.", async move |args: ListFiles, _| {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder.inside(args.path.as_deref().unwrap_or("."))?)? {
            let entry = entry?;
            let slash = if entry.file_type()?.is_dir() { "/" } else { "" };
            names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
        }
        names.sort();
        Ok(names.join("\n"))
    })
}

#[derive(Deserialize, JsonSchema)]
struct ReadFile {
    /// The file, relative to the current folder.
    path: String,
}

fn read_file(folder: Folder) -> AgentTool {
    tool_fn("read_file", "Reads a text file.", async move |args: ReadFile, _| {
        let path = folder.inside(&args.path)?;
        if !path.metadata()?.is_file() {
            Err("This is no file.")?;
        }
        let mut bytes = Vec::new();
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        file.take(LONGEST_TEXT as u64).read_to_end(&mut bytes)?;
        if bytes.contains(&0) {
            Err("This is no text file.")?;
        }
        let text = String::from_utf8_lossy(&bytes);
        let cut = length > LONGEST_TEXT as u64;
        Ok(if cut { format!("{text}\n[cut off: the file has {length} bytes]") } else { text.into_owned() })
    })
}

#[derive(Deserialize, JsonSchema)]
struct WriteFile {
    /// The file, relative to the current folder.
    path: String,
    /// Its whole new content.
    content: String,
}

fn write_file(folder: Folder) -> AgentTool {
    tool_fn("write_file", "Writes a text file.", async move |args: WriteFile, _| {
        fs::write(folder.inside(&args.path)?, &args.content)?;
        Ok(format!("Wrote {} bytes to {}.", args.content.len(), args.path))
    })
}

#[derive(Deserialize, JsonSchema)]
struct RunCommand {
    /// The command, as for a shell.
    command: String,
}

fn run_command(folder: Folder) -> AgentTool {
    tool_fn(
        "run_command",
        "Runs a shell command in the current folder, for a minute at most, without any input.",
        async move |args: RunCommand, cx| {
            shell::run(&folder.0, &args.command, shell::TIME_LIMIT, |line| cx.update(line)).await
        },
    )
}

/// The folder that the tools stay in.
#[derive(Debug, Clone)]
pub(crate) struct Folder(Arc<Path>);

impl Folder {
    pub(crate) fn current() -> io::Result<Self> {
        Self::new(&std::env::current_dir()?)
    }

    fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self(folder.canonicalize()?.into()))
    }

    /// Where a path really leads, if that is inside. The file itself may be missing, the directory it is in may not.
    fn inside(&self, path: &str) -> Result<PathBuf, ToolError> {
        let asked = self.0.join(path);
        // A link that leads nowhere could be written through, to outside.
        let is_missing = asked.symlink_metadata().is_err();
        let real = match (asked.parent(), asked.file_name()) {
            (Some(directory), Some(name)) if is_missing => directory.canonicalize()?.join(name),
            _ => asked.canonicalize()?,
        };
        if real.starts_with(&self.0) { Ok(real) } else { Err("Give a path inside the current folder.")? }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// A folder `inside` beside a file `secret`; it goes with the test.
    struct Place(PathBuf);

    impl Place {
        fn new(test: &str) -> (Self, Folder) {
            let place =
                std::env::temp_dir().join(format!("turnstate-quickstart-{}-{test}", std::process::id()));
            fs::create_dir_all(place.join("inside/below")).unwrap();
            fs::write(place.join("secret"), "secret").unwrap();
            fs::write(place.join("inside/file"), "text").unwrap();
            let folder = Folder::new(&place.join("inside")).unwrap();
            (Self(place), folder)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_path_that_stays_inside_is_taken_however_it_is_written() {
        let (place, folder) = Place::new("stays");
        let absolute = place.0.join("inside/file");
        for path in
            [".", "file", "./below", "below/../file", "missing", "below/missing", absolute.to_str().unwrap()]
        {
            assert!(folder.inside(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        let (place, folder) = Place::new("leaves");
        let absolute = place.0.join("secret");
        for path in [
            "..",
            "../secret",
            "below/../../secret",
            "../missing",
            "missing/../../secret",
            "/",
            "/etc/passwd",
        ] {
            assert!(folder.inside(path).is_err(), "{path}");
        }
        assert_eq!(
            folder.inside(absolute.to_str().unwrap()).unwrap_err().to_string(),
            "Give a path inside the current folder."
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_is_refused_even_if_there_is_nothing_behind_it() {
        let (place, folder) = Place::new("links");
        for (link, target) in [("out", "../secret"), ("up", ".."), ("dangling", "../missing")] {
            std::os::unix::fs::symlink(target, place.0.join("inside").join(link)).unwrap();
        }
        for path in ["out", "up/secret", "up/missing", "dangling"] {
            assert!(folder.inside(path).is_err(), "{path}");
        }
    }
}
