#[derive(Debug, CustomMessage)]
#[message(crate = crate::turnstate, role = "pluginScreenshot", user = "{title}, taken by {author.name()}:")]
struct Screenshot {
    title: String,
    author: Author,
    #[message(content)]
    image: Image,
    #[message(timestamp)]
    taken_at: u64,
}
