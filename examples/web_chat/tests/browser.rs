//! The page in a real browser: `browser.mjs` drives it against a server of this process.

mod support;

use std::time::Duration;

use support::{Server, find, node};
use web_chat::{ChatModel, Limits};

#[test]
fn a_person_chats_in_a_browser() {
    let (Some(driver), Some(browser)) =
        (find("a_person_chats_in_a_browser", "node_modules/playwright-core"), chromium())
    else {
        return;
    };
    let server = Server::start(ChatModel::demonstration(Duration::from_millis(15)), Limits::default());
    node("browser.mjs", &[&server.url(), &driver, &browser]);
    // Every page is closed by now, so the server keeps nobody.
    server.wait_until("nobody reads", |service| service.readers() == 0);
}

fn chromium() -> Option<String> {
    find("a_person_chats_in_a_browser", "/usr/bin/chromium")
}
