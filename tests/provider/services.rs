//! Servers and programs that nobody here wrote. `.ci/services install` brings them.

use std::io::Write;
use std::path::PathBuf;

/// The folder into which they are installed.
pub(crate) fn folder() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::env::var_os("TURNSTATE_SERVICES").map_or(target.with_file_name("services"), PathBuf::from)
}

/// The path of an installed part. Where it is missing it says that the test is skipped, in one plain line; with
/// `TURNSTATE_REQUIRE_SERVICES` set that fails the test.
pub(crate) fn find(test: &str, part: &str) -> Option<PathBuf> {
    let path = folder().join(part);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("TURNSTATE_REQUIRE_SERVICES").is_none(), "{part} is not installed");
    // Past the test runner, which keeps what a passing test prints.
    let _ = writeln!(std::io::stderr(), "skipped {test}: {part} is not installed (.ci/services install)");
    None
}
