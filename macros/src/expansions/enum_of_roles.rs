#[derive(Debug, CustomMessage)]
enum AppMessage {
    #[message(role = "notification", skip)]
    Notification { text: String, timestamp: u64 },
    #[message(user = "Ran `{command}`:\n{output}", skip_if = exclude_from_context)]
    BashExecution {
        command: String,
        output: String,
        #[serde(default)]
        exclude_from_context: bool,
        timestamp: u64,
    },
    #[message(project = BranchSummary::project)]
    BranchSummary(BranchSummary),
    #[message(system = "The person came back.")]
    CameBack,
    #[message(extend)]
    Plugin(other_crate::PluginMessage),
}
