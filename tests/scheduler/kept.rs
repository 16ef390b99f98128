//! Scenarios that once broke a rule, kept as they were found.

use turnstate::message::{AssistantMessage, StopReason};
use turnstate::model::Delta;
use turnstate::testing::scenario::{Action, AnswerPlan, BlockPlan, EndingPlan, Scenario};
use turnstate::{AgentEvent, Ending};

/// A run that was ending with a failed answer had an aborted turn added to it by `cancel`.
#[test]
fn cancelling_between_the_last_turn_and_the_end_adds_nothing_but_the_end() {
    let failed = |moment| -> Scenario {
        Scenario::prompting("a")
            .answer(AnswerPlan::new().ending(EndingPlan::Failed))
            .then_after(moment, Action::Cancel)
    };
    // The moments before, at and after the failed turn's end: never a second failed answer.
    for moment in 0..10 {
        let played = failed(moment).play();
        let answers = played.added().iter().filter(|message| message.as_assistant().is_some()).count();
        assert!(answers <= 1, "{}", played.trace);
    }
    let played = failed(8).play();
    assert_eq!(played.trace.kinds()[6..], ["turn_end", "agent_end"]);
    let ending = &played.outcome().unwrap().ending;
    assert_eq!(*ending, Ending::Failed { message: "the provider failed".to_owned() });
}

/// A whole answer with the stop reason `pending` went into the transcript as it was, and its calls ran.
#[test]
fn a_whole_answer_that_says_it_is_pending_is_a_failed_answer() {
    let mut pending = AssistantMessage::text("half");
    pending.stop_reason = StopReason::Pending;
    let scenario =
        Scenario::prompting("a").answer(AnswerPlan::new().block(BlockPlan::Delta(Delta::whole(pending))));
    let played = scenario.play();
    let answer = played.added().last().unwrap().as_assistant().unwrap().clone();
    assert_eq!(answer.stop_reason, StopReason::Error);
    assert_eq!(
        answer.error_message.as_deref(),
        Some("the model's stream ended with the stop reason `pending`")
    );
    assert_eq!(answer.texts().collect::<Vec<_>>(), ["half"]);
    assert!(matches!(played.trace.events().next_back(), Some(AgentEvent::AgentEnd { .. })));
}
