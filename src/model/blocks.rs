//! The blocks of an answer while it streams, found by their content index.

use std::collections::HashMap;

use super::PartialBlock;

/// Blocks by content index.
///
/// Nearly always they start in the order of their indexes, and the next delta is for the block of the last one: both
/// cost nothing here. Blocks that start in another order are kept as they came, with a map to find them.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    list: Vec<(u32, PartialBlock)>,
    /// Where the last delta went.
    last: usize,
    /// Where each block is, once one came out of order.
    places: Option<HashMap<u32, usize>>,
}

impl Blocks {
    /// Adds a block; false if there is one with this index.
    pub(super) fn start(&mut self, index: u32, block: PartialBlock) -> bool {
        let in_order = self.places.is_none() && self.list.last().is_none_or(|(last, _)| *last < index);
        if !in_order {
            if self.place(index).is_some() {
                return false;
            }
            let places = self.places.get_or_insert_with(|| {
                self.list.iter().enumerate().map(|(at, (index, _))| (*index, at)).collect()
            });
            places.insert(index, self.list.len());
        }
        self.last = self.list.len();
        self.list.push((index, block));
        true
    }

    /// Takes over one block as it is in `other`; false if one of them does not have it.
    pub(super) fn follow(&mut self, index: u32, other: &Self) -> bool {
        match (self.get_mut(index), other.get(index)) {
            (Some(known), Some(block)) => {
                known.clone_from(block);
                true
            }
            _ => false,
        }
    }

    /// The block that a delta speaks of.
    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut PartialBlock> {
        self.last = self.place(index)?;
        self.list.get_mut(self.last).map(|(_, block)| block)
    }

    pub(super) fn get(&self, index: u32) -> Option<&PartialBlock> {
        self.list.get(self.place(index)?).map(|(_, block)| block)
    }

    /// The blocks by index, ascending.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &PartialBlock> {
        let order = self.places.is_some().then(|| {
            let mut order: Vec<usize> = (0..self.list.len()).collect();
            order.sort_unstable_by_key(|at| self.list.get(*at).map(|(index, _)| *index));
            order
        });
        (0..self.list.len()).map(move |at| {
            let at = order.as_ref().and_then(|order| order.get(at)).copied().unwrap_or(at);
            // It cannot be out of bounds: an order holds the places of the list, and so does the range.
            &self.list[at].1
        })
    }

    /// The blocks by index, ascending.
    pub(super) fn into_iter(mut self) -> impl ExactSizeIterator<Item = PartialBlock> {
        if self.places.is_some() {
            self.list.sort_unstable_by_key(|(index, _)| *index);
        }
        self.list.into_iter().map(|(_, block)| block)
    }

    #[inline]
    fn place(&self, index: u32) -> Option<usize> {
        match (self.list.get(self.last), &self.places) {
            (Some((known, _)), _) if *known == index => Some(self.last),
            (_, Some(places)) => places.get(&index).copied(),
            (_, None) => self.list.binary_search_by_key(&index, |(known, _)| *known).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::message::Text;

    fn text(block: Option<&PartialBlock>) -> Option<&str> {
        match block {
            Some(PartialBlock::Text(text)) => Some(&text.text),
            _ => None,
        }
    }

    proptest! {
        /// Whatever the order of starts and pieces, the blocks are those of an ordered map.
        #[test]
        fn blocks_are_an_ordered_map(deltas in prop::collection::vec((0u32..12, any::<bool>()), 0..40)) {
            let (mut blocks, mut map) = (Blocks::default(), BTreeMap::<u32, String>::new());
            for (index, starts) in deltas {
                if starts {
                    let started = blocks.start(index, PartialBlock::Text(Text::default()));
                    prop_assert_eq!(started, !map.contains_key(&index));
                    map.entry(index).or_default();
                } else if let Some(PartialBlock::Text(text)) = blocks.get_mut(index) {
                    text.text.push('x');
                    map.entry(index).and_modify(|text| text.push('x'));
                } else {
                    prop_assert!(!map.contains_key(&index));
                }
                prop_assert_eq!(text(blocks.get(index)), map.get(&index).map(String::as_str));
            }
            let expected: Vec<_> = map.values().map(|text| Some(text.as_str())).collect();
            prop_assert_eq!(blocks.iter().map(|block| text(Some(block))).collect::<Vec<_>>(), expected.clone());
            let finished: Vec<_> = blocks.into_iter().collect();
            prop_assert_eq!(finished.iter().map(|block| text(Some(block))).collect::<Vec<_>>(), expected);
        }
    }
}
