//! In which order a graph's results are evaluated: what is read decides what a plan's results are.
//!
//! Everything at once hides bugs: a value that is a result has memory of its own, one that is only used on the way may
//! not. So results are read alone, in groups, or let go of unread; the outputs are sometimes there before the
//! gradients are built, as when a loss is printed before `backward`.

use super::generate::Generator;

/// When which results are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// All in one plan.
    Together,
    /// In rounds drawn from a key.
    Rounds { key: u64, outputs_first: bool, all_held: bool },
}

impl Order {
    pub fn draw(generator: &mut Generator) -> Order {
        match generator.below(4) {
            0 => Order::Together,
            _ => Order::Rounds {
                key: generator.below(1 << 30) as u64,
                outputs_first: generator.below(4) == 0,
                all_held: generator.below(4) == 0,
            },
        }
    }

    /// Are the outputs read before the gradients are built?
    pub fn reads_outputs_first(self) -> bool {
        matches!(self, Order::Rounds { outputs_first: true, .. })
    }

    /// Is all that is held evaluated in one plan, as an optimizer's step does it, before anything is read?
    pub fn evaluates_all_held(self) -> bool {
        matches!(self, Order::Rounds { all_held: true, .. })
    }

    /// Which of `count` results are read together, round by round; those in no round are let go of unread.
    pub fn rounds(self, count: usize) -> Vec<Vec<usize>> {
        let Order::Rounds { key, .. } = self else { return vec![(0..count).collect()] };
        let mut generator = Generator::new(key);
        let mut left: Vec<usize> = (0..count).collect();
        for k in (1..count).rev() {
            left.swap(k, generator.below(k + 1));
        }
        let unread = generator.below(count.max(1));
        left.truncate(count - if generator.below(2) == 0 { unread } else { 0 });
        let mut rounds = Vec::new();
        while !left.is_empty() {
            let size = 1 + generator.below(left.len().min(3));
            rounds.push(left.split_off(left.len() - size));
        }
        rounds
    }
}
