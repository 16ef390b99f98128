//! One shell command: with a time limit, and killed with everything it started when nobody waits for it any more.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use smol::future::or;
use smol::io::AsyncReadExt;
use smol::process::Child;
use turnstate::tool::{ToolError, ToolOutput};

use crate::choice;

/// How long a command may run.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);
/// How much of the output goes back to the model, in bytes: the end, where errors are.
const LONGEST_OUTPUT: usize = 16 * 1024;

/// Runs a command and tells of its last line as it goes.
///
/// # Cancel safety
/// Dropping the future kills the command.
pub(crate) async fn run(
    folder: &Path,
    command: &str,
    limit: Duration,
    tell: impl Fn(String),
) -> Result<ToolOutput, ToolError> {
    let mut group = Group::start(folder, command)?;
    let mut output = Output::default();
    let ended = or(
        async {
            smol::Timer::after(limit).await;
            Ok(None)
        },
        async {
            output.read(&mut group.child, tell).await?;
            group.child.status().await.map(Some)
        },
    );
    let ended = ended.await?;
    let text = output.text();
    Ok(match ended {
        None => ToolOutput::error(format!("{text}[stopped: it took longer than {} s]", limit.as_secs_f32())),
        Some(status) => {
            group.is_over = true;
            if status.success() {
                ToolOutput::text(text)
            } else {
                ToolOutput::error(format!("{text}[it failed: {status}]"))
            }
        }
    })
}

/// A running command, and all that it started.
struct Group {
    child: Child,
    is_over: bool,
}

impl Group {
    fn start(folder: &Path, command: &str) -> std::io::Result<Self> {
        let shell = shell_in(folder, command);
        let mut shell = smol::process::Command::from(shell);
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        Ok(Self { child: shell.spawn()?, is_over: false })
    }
}

fn shell_in(folder: &Path, command: &str) -> Command {
    let mut shell = shell(command);
    shell.current_dir(folder).env_remove(choice::KEY).env_remove(choice::BASE_URL);
    // Those that genai reads, too: no command that the model runs is to see a key.
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.to_string_lossy().ends_with("_API_KEY")).for_each(|name| {
        shell.env_remove(name);
    });
    shell
}

/// A group of its own: the terminal's Ctrl-C does not reach it, so that the run decides.
#[cfg(unix)]
fn shell(command: &str) -> Command {
    use std::os::unix::process::CommandExt;

    let mut shell = Command::new("sh");
    // Errors stand where they came, between the other lines.
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).process_group(0);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.args(["/C", command]);
    shell
}

impl Drop for Group {
    fn drop(&mut self) {
        if cfg!(unix) && !self.is_over {
            // A signal to the shell alone would leave running what it started.
            let kill = format!("kill -s KILL -- -{}", self.child.id());
            let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
        }
    }
}

/// The end of what a command writes.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    dropped: usize,
}

impl Output {
    async fn read(&mut self, child: &mut Child, tell: impl Fn(String)) -> std::io::Result<()> {
        let Some(pipe) = &mut child.stdout else { return Ok(()) };
        let mut chunk = vec![0; 8 * 1024];
        loop {
            let length = pipe.read(&mut chunk).await?;
            let Some(new @ [_, ..]) = chunk.get(..length) else { return Ok(()) };
            self.bytes.extend_from_slice(new);
            let too_many = self.bytes.len().saturating_sub(LONGEST_OUTPUT);
            // Not with every chunk: what stays has to be moved.
            if too_many > LONGEST_OUTPUT {
                self.cut(too_many);
            }
            if let Some(line) = String::from_utf8_lossy(new).lines().rfind(|line| !line.trim().is_empty()) {
                tell(line.to_owned());
            }
        }
    }

    fn cut(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.dropped += count;
    }

    /// The text, with a line end behind it if there is any.
    fn text(mut self) -> String {
        self.cut(self.bytes.len().saturating_sub(LONGEST_OUTPUT));
        let text = String::from_utf8_lossy(&self.bytes);
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        match self.dropped {
            0 => format!("{text}{end}"),
            dropped => format!("[cut off: {dropped} bytes before this]\n{text}{end}"),
        }
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::time::Instant;

    use super::*;

    fn output(command: &str, limit: Duration) -> ToolOutput {
        smol::block_on(run(Path::new("."), command, limit, |_| {})).unwrap()
    }

    fn text(output: &ToolOutput) -> String {
        output.texts().collect()
    }

    #[test]
    fn output_and_errors_come_in_their_order_and_a_failure_says_how_it_failed() {
        let good = output("echo one; echo two >&2; echo three", TIME_LIMIT);
        assert_eq!((text(&good).as_str(), good.is_error), ("one\ntwo\nthree\n", false));
        let bad = output("printf half; exit 3", TIME_LIMIT);
        assert_eq!((text(&bad).as_str(), bad.is_error), ("half\n[it failed: exit status: 3]", true));
    }

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let long = text(&output("yes | head -c 100000; echo end", TIME_LIMIT));
        assert!(long.starts_with("[cut off: 83620 bytes before this]\n"), "{}", &long[..60]);
        assert!(long.ends_with("y\nend\n"));
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed_with_all_that_it_started() {
        let marker = format!("sleep 98{}", std::process::id());
        let started = Instant::now();
        let late = output(&format!("{marker} & {marker}"), Duration::from_millis(500));
        assert_eq!((text(&late).as_str(), late.is_error), ("[stopped: it took longer than 0.5 s]", true));
        assert!(started.elapsed() < Duration::from_secs(60));
        assert!(!is_running(&marker));
    }

    #[test]
    fn a_command_that_nobody_waits_for_any_more_is_killed_with_all_that_it_started() {
        let marker = format!("sleep 97{}", std::process::id());
        let (told, begun) = futures::channel::mpsc::unbounded();
        let command = format!("{marker} & echo begun; {marker}");
        smol::block_on(or(
            async {
                let tell = |line| drop(told.unbounded_send(line));
                let _ = run(Path::new("."), &command, TIME_LIMIT, tell).await;
            },
            async {
                let _ = futures::StreamExt::into_future(begun).await;
            },
        ));
        assert!(!is_running(&marker));
    }

    #[test]
    fn the_key_is_kept_from_the_command() {
        let shell = shell_in(Path::new("."), "env");
        assert!(shell.get_envs().any(|variable| variable == (choice::KEY.as_ref(), None)));
    }

    /// Whether a process with this command line runs, and goes on to for seconds.
    fn is_running(command_line: &str) -> bool {
        (0..100).all(|_| {
            std::thread::sleep(Duration::from_millis(50));
            let listed = Command::new("ps").args(["-eo", "stat,args"]).output().unwrap().stdout;
            let listed = String::from_utf8_lossy(&listed);
            listed.lines().any(|line| line.ends_with(command_line) && !line.starts_with('Z'))
        })
    }
}
