//! How much work a schema can make of one value, found out before anything is compiled.
//!
//! A value is handed on from subschema to subschema before it comes to its parts. A circle would never come to
//! them; a long way costs stack at every level of the data; and ways that part and meet again are all taken, so
//! that their number doubles with every step while the schema grows by a line. The validator does not guard
//! against these.

use super::MAX_DEPTH;
use super::error::SchemaError;
use super::plan::{Node, NodeId, Plan};
use super::reference::as_fragment;

/// How many subschemas may be at work on the way to a leaf of the arguments, one inside the other. In a program
/// that is not optimized they take up to half a kibibyte of stack each, and two mebibytes are usual for a
/// thread.
const MAX_NESTED: usize = 2_048;

/// How many subschemas one value may be handed to. A union of hundreds of objects stays well below.
const MAX_SAME_VALUE: usize = 10_000;

/// How many subschemas there may be, those behind references counted as often as references lead to them.
const MAX_SUBSCHEMAS: usize = 1_000_000;

/// How many levels of arrays and objects arguments may have, so that checking them by this schema does not
/// exhaust the stack. For schemas as they are met it is [`MAX_DEPTH`].
pub(super) fn deepest_arguments(plan: &Plan) -> Result<usize, SchemaError> {
    let same_value = Search::run(plan, Node::same_value);
    if let Some(node) = same_value.circle.and_then(|id| plan.node(id)) {
        return Err(SchemaError::SelfReference { path: as_fragment(&node.pointer) });
    }
    if same_value.most.longest > MAX_DEPTH {
        return Err(SchemaError::TooDeep { limit: MAX_DEPTH });
    }
    if same_value.most.total > MAX_SAME_VALUE {
        return Err(SchemaError::TooLarge { limit: MAX_SAME_VALUE });
    }
    // Circles that follow the data are fine, and cut here: the data ends them.
    let everything = Search::run(plan, |node| node.same_value().into_iter().chain(node.parts()).collect());
    if everything.most.total > MAX_SUBSCHEMAS {
        return Err(SchemaError::TooLarge { limit: MAX_SUBSCHEMAS });
    }
    Ok((MAX_NESTED / same_value.most.longest.max(1)).min(MAX_DEPTH))
}

/// The ways that lead on from a node, itself included.
#[derive(Debug, Clone, Copy, Default)]
struct Ways {
    /// How many nodes the longest has.
    longest: usize,
    /// How many nodes all have together.
    total: usize,
}

impl Ways {
    fn join(&mut self, others: Ways) {
        self.longest = self.longest.max(others.longest);
        self.total = self.total.saturating_add(others.total);
    }
}

/// How far a search has come with a node.
#[derive(Clone, Copy)]
enum State {
    Unseen,
    /// On the path at hand.
    Entered,
    Left(Ways),
}

/// A node on the path at hand.
struct Step {
    id: NodeId,
    /// Where the path has not gone yet.
    open: Vec<NodeId>,
    ways: Ways,
}

/// A search in depth over all nodes, without recursion.
struct Search<'p, F> {
    plan: &'p Plan,
    children: F,
    states: Vec<State>,
    /// A node that leads back to itself.
    circle: Option<NodeId>,
    /// The longest way, and the most nodes, from any node.
    most: Ways,
}

impl<'p, F: Fn(&Node) -> Vec<NodeId>> Search<'p, F> {
    fn run(plan: &'p Plan, children: F) -> Self {
        let states = vec![State::Unseen; plan.len()];
        let mut search = Search { plan, children, states, circle: None, most: Ways::default() };
        for start in 0..plan.len() {
            search.visit(start);
        }
        search
    }

    fn visit(&mut self, start: NodeId) {
        let mut path: Vec<Step> = self.enter(start).into_iter().collect();
        while let Some(step) = path.last_mut() {
            match step.open.pop() {
                Some(child) => match self.states.get(child) {
                    Some(State::Left(ways)) => step.ways.join(*ways),
                    Some(State::Entered) => self.circle = self.circle.or(Some(child)),
                    Some(State::Unseen) | None => path.extend(self.enter(child)),
                },
                None => {
                    let ways = Ways {
                        longest: step.ways.longest.saturating_add(1),
                        total: step.ways.total.saturating_add(1),
                    };
                    self.leave(step.id, ways);
                    path.pop();
                    if let Some(outer) = path.last_mut() {
                        outer.ways.join(ways);
                    }
                }
            }
        }
    }

    fn enter(&mut self, id: NodeId) -> Option<Step> {
        let node = self.plan.node(id)?;
        let state = self.states.get_mut(id).filter(|state| matches!(state, State::Unseen))?;
        *state = State::Entered;
        Some(Step { id, open: (self.children)(node), ways: Ways::default() })
    }

    fn leave(&mut self, id: NodeId, ways: Ways) {
        if let Some(state) = self.states.get_mut(id) {
            *state = State::Left(ways);
        }
        self.most.longest = self.most.longest.max(ways.longest);
        self.most.total = self.most.total.max(ways.total);
    }
}
