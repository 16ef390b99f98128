//! The page's own modules, without a browser: `page.mjs` reads a server's events with the page's code, from many
//! moments on.

mod support;

use std::process::Command;
use std::time::Duration;

use support::{Server, find};
use web_chat::{ChatModel, Limits};

#[test]
fn pages_that_come_late_show_what_those_do_that_were_there_from_the_beginning() {
    // Node comes with the services: without them there may be none.
    if find("pages_that_come_late", "node_modules").is_none() {
        return;
    }
    // So few steps are kept that some readers are shown a second snapshot.
    let mut limits = Limits::default();
    limits.steps = 8;
    let server = Server::start(ChatModel::demonstration(Duration::from_millis(2)), limits);
    let output = Command::new("node")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page.mjs"))
        .arg(server.url())
        .output()
        .expect("node is installed with the services");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
