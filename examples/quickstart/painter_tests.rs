use turnstate::Run;
use turnstate::message::{StopReason, Usage};
use turnstate::testing::{Response, ScriptedModel, ScriptedTool, ToolScript, VirtualClock, block_on};

use super::*;

const PLAIN: Abilities = Abilities { colors: false, moves: false };

fn usage(json: serde_json::Value) -> Usage {
    serde_json::from_value(json).unwrap_or_default()
}

/// What is shown of a run on these answers.
fn shown(abilities: Abilities, answers: impl IntoIterator<Item = Response>) -> String {
    let read = ScriptedTool::new("read")
        .does(ToolScript::new().update("half").returns("one\ntwo"))
        .on_call("fails", ToolScript::new().fails("no such \x1b[31mfile\nat all"))
        .on_call("silent", ToolScript::new().returns(""));
    let run = Run::builder(ScriptedModel::new(answers)).tool(read).clock(VirtualClock::new()).build();
    let mut painter = Painter::new(abilities);
    let run = block_on(async {
        let mut run = run.prompt("Go");
        while let Some(event) = run.next().await {
            painter.show(&event);
        }
        run.finish().await
    });
    if let Some(outcome) = run.outcome() {
        painter.end(outcome, Duration::from_millis(1_234));
    }
    painter.take()
}

#[test]
fn an_answer_is_shown_as_its_text_then_the_figures() {
    for (answer, expected) in [
        (Response::text("Hello, you."), "Hello, you.\n(1 turn · 0 tool calls · 1.2 s)\n"),
        (Response::text("Hello, you.").in_chunks_of(1), "Hello, you.\n(1 turn · 0 tool calls · 1.2 s)\n"),
        (Response::text("Line\n"), "Line\n(1 turn · 0 tool calls · 1.2 s)\n"),
        (
            Response::thinking("Let me see.").in_chunks_of(3).and_text("Done."),
            "… Let me see.\nDone.\n(1 turn · 0 tool calls · 1.2 s)\n",
        ),
        (
            Response::whole(turnstate::message::AssistantMessage::text("All at once.")),
            "All at once.\n(1 turn · 0 tool calls · 1.2 s)\n",
        ),
        (Response::text("bad \x1b[2J"), "bad \u{fffd}[2J\n(1 turn · 0 tool calls · 1.2 s)\n"),
    ] {
        assert_eq!(shown(PLAIN, [answer]), expected);
    }
}

#[test]
fn a_call_is_one_line_with_arguments_outcome_and_duration() {
    let arguments = serde_json::json!({"path": "a.txt"});
    for (id, line) in [
        ("works", "✓ read path=a.txt → 2 lines (0 ms)\n"),
        ("fails", "✗ read path=a.txt → no such \u{fffd}[31mfile… (0 ms)\n"),
        ("silent", "✓ read path=a.txt → nothing (0 ms)\n"),
    ] {
        let answers = [Response::tool_call(id, "read", arguments.clone()), Response::text("Done.")];
        assert_eq!(shown(PLAIN, answers), format!("{line}Done.\n(2 turns · 1 tool call · 1.2 s)\n"));
    }
}

#[test]
fn the_calls_of_a_batch_have_a_line_each() {
    let both = Response::text("Both.")
        .and_tool_call("1", "read", serde_json::json!({"path": "a"}))
        .and_tool_call("2", "missing", serde_json::json!({}));
    let text = shown(PLAIN, [both, Response::text("Done.")]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines.contains(&"✓ read path=a → 2 lines (0 ms)"), "{text}");
    assert!(lines.iter().any(|line| line.starts_with("✗ missing → ")), "{text}");
    assert_eq!(lines.last(), Some(&"(2 turns · 2 tool calls · 1.2 s)"));
}

#[test]
fn tokens_and_cost_are_shown_where_the_model_tells_them() {
    for (told, figures) in [
        (
            usage(serde_json::json!({"input": 1, "output": 7, "totalTokens": 8})),
            "(1 turn · 0 tool calls · 1 token read, 7 written · 1.2 s)\n",
        ),
        (
            usage(serde_json::json!({
                "input": 100, "output": 7, "cacheRead": 900, "totalTokens": 1007, "cost": {"total": 0.01234}
            })),
            "(1 turn · 0 tool calls · 1000 tokens (900 from the cache) read, 7 written · cost 0.0123 · 1.2 s)\n",
        ),
    ] {
        let text = shown(PLAIN, [Response::text("Hi.").with_usage(told)]);
        assert_eq!(text, format!("Hi.\n{figures}"));
    }
}

#[test]
fn a_run_that_did_not_end_as_it_should_says_so() {
    let failed = Response::text("Half").failing("the server is \x07gone");
    assert_eq!(
        shown(PLAIN, [failed]),
        "Half\n(failed: the server is \u{fffd}gone)\n(1 turn · 0 tool calls · 1.2 s)\n"
    );
    let cut = Response::text("Half").stopping(StopReason::Length);
    assert_eq!(
        shown(PLAIN, [cut]),
        "Half\n(cut off at the model's limit)\n(1 turn · 0 tool calls · 1.2 s)\n"
    );
}

#[test]
fn colours_only_dim_what_is_not_the_answer() {
    let answer = || Response::thinking("Hm.").and_text("Yes.");
    let colored = shown(Abilities { colors: true, moves: false }, [answer()]);
    assert_eq!(
        colored,
        "\x1b[2m… \x1b[0m\x1b[2mHm.\x1b[0m\nYes.\n\x1b[2m(1 turn · 0 tool calls · 1.2 s)\x1b[0m\n"
    );
    assert_eq!(colored.replace(DIM, "").replace(RESET, ""), shown(PLAIN, [answer()]));
}

#[test]
fn a_message_put_in_is_shown_where_it_is_put_in_and_the_prompt_is_not() {
    let mut painter = Painter::new(PLAIN);
    let run = Run::builder(ScriptedModel::new([Response::text("One."), Response::text("Two.")])).build();
    block_on(async {
        let mut run = run.prompt("Go");
        run.handle().follow_up("And\nthen?");
        while let Some(event) = run.next().await {
            painter.show(&event);
        }
    });
    assert_eq!(painter.take(), "One.\n» And…\nTwo.\n");
}

#[test]
fn the_spinner_stands_behind_the_cursor_and_is_gone_before_anything_is_written() {
    let mut painter = Painter::new(Abilities { colors: false, moves: true });
    painter.show(&AgentEvent::TurnStart);
    painter.spin();
    assert_eq!(painter.take(), "\x1b[K\x1b7\x1b[?7l⠙ waiting for the model\x1b[?7h\x1b8");
    painter.show(&AgentEvent::MessageUpdate { delta: Delta::text(0, "Hi") });
    assert_eq!(painter.take(), "\x1b[KHi");
    painter.spin();
    assert_eq!(painter.take(), "\x1b[K\x1b7\x1b[?7l ⠹\x1b[?7h\x1b8");
    painter.note("(so)");
    assert_eq!(painter.take(), "\x1b[K\n(so)\n");
    let odd = Delta::tool_call_start(1, "call", "re\x1b[2Jad\nit");
    painter.show(&AgentEvent::MessageUpdate { delta: odd });
    painter.spin();
    assert_eq!(painter.take(), "\x1b[K\x1b7\x1b[?7l⠸ writing a call of re\u{fffd}[2Jad…\x1b[?7h\x1b8");
}

#[test]
fn nothing_moves_where_there_is_no_terminal() {
    let mut painter = Painter::new(PLAIN);
    painter.show(&AgentEvent::TurnStart);
    painter.spin();
    assert_eq!(painter.take(), "");
}

#[test]
fn what_the_spinner_showed_behind_a_typed_line_is_wiped_off() {
    let mut painter = Painter::new(Abilities { colors: false, moves: true });
    painter.show(&AgentEvent::TurnStart);
    painter.spin();
    painter.take();
    painter.line_was_typed("And then?");
    painter.note("(so)");
    assert_eq!(painter.take(), "\x1b[A\r\x1b[KAnd then?\n(so)\n");
    painter.line_was_typed("No spinner was there.");
    assert_eq!(painter.take(), "");
}
