//! Questions to the person: may this call run?

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use turnstate::hook::Decision;
use turnstate::message::ToolCall;

use super::{Board, Step};

/// A question that is open.
pub(crate) struct Question {
    view: QuestionView,
    answer: oneshot::Sender<Decision>,
}

/// A question as it is shown.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct QuestionView {
    question: u64,
    /// The number of the call it is about; `None` for a call that a tool makes itself.
    call: Option<u64>,
    name: String,
    /// The arguments as the tool would get them.
    arguments: Map<String, Value>,
}

impl Question {
    pub(crate) fn view(&self) -> QuestionView {
        self.view.clone()
    }
}

impl Board {
    /// Asks whether a call may run. Gives the question's number, and what will be answered.
    pub(crate) fn ask(
        &mut self,
        call: &ToolCall,
        steps: &mut Vec<Step>,
    ) -> (u64, oneshot::Receiver<Decision>) {
        let (answer, answered) = oneshot::channel();
        let question = self.number();
        // Calls of a batch are asked about one after the other, so of two with one id the first is not asked about
        // any more when the second is.
        let is_asked =
            |number| self.questions.iter().any(|question: &Question| question.view.call == Some(number));
        let about = self.calls.iter().find(|known| known.may_be(&call.id) && !is_asked(known.number()));
        let view = QuestionView {
            question,
            call: about.map(super::Call::number),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        };
        self.questions.push(Question { view: view.clone(), answer });
        steps.push(Step::Asked { question: view });
        (question, answered)
    }

    /// Answers a question; `false` if it is not open any more. The asking side is told first, and shown after it.
    pub(crate) fn decide(&mut self, question: u64, decision: Decision, steps: &mut Vec<Step>) -> bool {
        self.close_question(question, steps).is_some_and(|question| question.answer.send(decision).is_ok())
    }

    /// Takes a question back: the run was stopped.
    pub(crate) fn withdraw(&mut self, question: u64, steps: &mut Vec<Step>) {
        self.close_question(question, steps);
    }

    fn close_question(&mut self, question: u64, steps: &mut Vec<Step>) -> Option<Question> {
        let at = self.questions.iter().position(|open| open.view.question == question)?;
        steps.push(Step::Answered { question });
        Some(self.questions.remove(at))
    }
}
