#[derive(Debug, CustomMessage)]
#[message(rename_all = "snake_case")]
enum Host<P, T = String>
where
    P: CustomMessage,
    T: Payload,
{
    #[message(project = shown(payload, *times), timestamp = times.0)]
    WithPayload { payload: T, times: (u64, u64) },
    #[message(extend)]
    Plugin(P),
}
