//! The page in a real browser: `browser.mjs` drives it against a server of this process.

mod support;

use std::process::Command;
use std::time::Duration;

use support::{Server, find};
use web_chat::{ChatModel, Limits};

#[test]
fn a_person_chats_in_a_browser() {
    let (Some(driver), Some(browser)) =
        (find("a_person_chats_in_a_browser", "node_modules/playwright-core"), chromium())
    else {
        return;
    };
    let server = Server::start(ChatModel::demonstration(Duration::from_millis(20)), Limits::default());
    let output = Command::new("node")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser.mjs"))
        .args([server.url().as_str(), &driver, &browser])
        .output()
        .expect("node is installed with the services");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    // Every page is closed by now, so the server keeps nobody.
    server.wait_until("nobody reads", |service| service.readers() == 0);
}

fn chromium() -> Option<String> {
    find("a_person_chats_in_a_browser", "/usr/bin/chromium")
}
