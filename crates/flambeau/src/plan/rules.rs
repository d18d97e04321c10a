//! The fusion policy: rules that say where a node goes. They are tried in order, and the first that applies has it.

use super::fuse::{Fuser, Role, Use};
use crate::op::Op;

/// Why a node is where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    Input,
    Unused,
    Structured,
    LookedThrough,
    StoredView,
    StoredForWindows,
    EndsReduction,
    JoinsOnlyReader,
    Recomputed,
    StoredByReader,
    JoinsSingles,
    StartsKernel,
}

impl Rule {
    /// The rule in words, for people.
    pub fn text(self) -> &'static str {
        match self {
            Rule::Input => "in memory already",
            Rule::Unused => "used by nothing",
            Rule::Structured => "a kernel of its own kind",
            Rule::LookedThrough => "looked through by readers",
            Rule::StoredView => "a view or source stored on demand",
            Rule::StoredForWindows => "stored for windows that overlap",
            Rule::EndsReduction => "computed with the reduction that it is made of",
            Rule::JoinsOnlyReader => "joins its only reader",
            Rule::Recomputed => "recomputed by each reader",
            Rule::StoredByReader => "computed and stored by a reader",
            Rule::JoinsSingles => "computed with other single numbers",
            Rule::StartsKernel => "starts a kernel",
        }
    }
}

/// Ops that windows compute again for each of them that reads the result.
const FEW_OPS: usize = 2;

/// A node to be placed.
pub(super) struct Placing {
    pub index: u32,
    /// Where kernels use it.
    pub uses: Vec<Use>,
    /// Needed in memory by a structured op, a gather, or the caller.
    pub required: bool,
    /// May it share a kernel? Not in debug mode.
    pub fuse: bool,
}

/// Places the node if the rule applies.
type Apply = fn(&mut Fuser<'_>, &Placing) -> bool;

const RULES: &[(Rule, Apply)] = &[
    (Rule::Input, |fuser, node| fuser.is_input(node)),
    (Rule::Unused, |_, node| node.uses.is_empty() && !node.required),
    (Rule::Structured, |fuser, node| fuser.is_structured(node)),
    // Readers look through views and make sources themselves; only an explicit demand stores one.
    (Rule::LookedThrough, |fuser, node| fuser.is_transparent(node) && !node.required),
    (Rule::StoredView, |fuser, node| fuser.is_transparent(node) && fuser.start_kernel(node.index)),
    (Rule::StoredForWindows, |fuser, node| fuser.repeats_in_windows(node) && fuser.start_kernel(node.index)),
    (Rule::EndsReduction, |fuser, node| node.fuse && !node.required && fuser.ends_reduction(node)),
    (Rule::JoinsOnlyReader, |fuser, node| node.fuse && !node.required && fuser.join_only_reader(node)),
    (Rule::Recomputed, |fuser, node| {
        node.fuse && !node.required && fuser.recompute_in_readers(node.index, &node.uses)
    }),
    (Rule::StoredByReader, |fuser, node| node.fuse && fuser.join_a_reader_that_stores_it(node)),
    (Rule::EndsReduction, |fuser, node| node.fuse && fuser.join_others_of_its_reduction(node)),
    (Rule::JoinsSingles, |fuser, node| node.fuse && fuser.join_single_numbers(node)),
    (Rule::StartsKernel, |fuser, node| fuser.start_kernel_for_others(node.index)),
];

impl Fuser<'_> {
    /// Places a node; returns the rule that did it.
    pub(super) fn place(&mut self, node: &Placing) -> Rule {
        let applied = RULES.iter().find(|(_, applies)| applies(self, node));
        applied.map_or(Rule::StartsKernel, |(rule, _)| *rule)
    }

    fn op_of(&self, node: &Placing) -> Option<&Op> {
        self.graph.nodes[node.index as usize].op.as_ref()
    }

    fn is_input(&mut self, node: &Placing) -> bool {
        let is_input = self.op_of(node).is_none();
        if is_input {
            self.fusion.roles[node.index as usize] = Role::Input;
            self.fusion.stored[node.index as usize] = true;
        }
        is_input
    }

    fn is_structured(&mut self, node: &Placing) -> bool {
        let is_structured = self.op_of(node).and_then(Op::structured).is_some();
        if is_structured {
            self.fusion.roles[node.index as usize] = Role::Structured;
            self.fusion.stored[node.index as usize] = true;
            self.require_operands(node.index);
        }
        is_structured
    }

    fn is_transparent(&self, node: &Placing) -> bool {
        self.op_of(node).is_some_and(|op| matches!(op, Op::View(_)) || op.is_source())
    }

    /// Would a reader, whose windows overlap, compute it again and again where it is more than an op or two?
    fn repeats_in_windows(&self, node: &Placing) -> bool {
        let repeats = |at: &Use| self.fusion.paths.repeats_in_windows(self.graph, at.path);
        node.uses.iter().any(repeats) && self.is_worth_storing(node.index)
    }

    /// Is it made by so many ops, from what is in memory, that reading it is cheaper?
    fn is_worth_storing(&self, index: u32) -> bool {
        let (mut stack, mut ops) = (vec![index], 0);
        while let Some(node) = stack.pop() {
            let node = &self.graph.nodes[node as usize];
            if !matches!(node.op, Some(Op::Map(_) | Op::Cast)) {
                continue;
            }
            ops += 1;
            if ops > FEW_OPS {
                return true;
            }
            stack.extend(node.inputs.iter().map(|&input| self.graph.base(input).node));
        }
        false
    }

    /// Joins the kernel in which all its uses lie, at the same coordinates.
    fn join_only_reader(&mut self, node: &Placing) -> bool {
        let Some(&at) = node.uses.first() else { return false };
        let is_reduction = matches!(self.op_of(node), Some(Op::Reduce(_)));
        let joins =
            node.uses.iter().all(|other| *other == at) && self.admits(at, node.index, is_reduction, false);
        if joins {
            self.join(at, node.index, false);
        }
        joins
    }

    /// Joins the first of its readers that can hold and store it for the others, without waiting for itself.
    fn join_a_reader_that_stores_it(&mut self, node: &Placing) -> bool {
        let index = node.index;
        let is_reduction = matches!(self.op_of(node), Some(Op::Reduce(_)));
        self.fusion.stored[index as usize] = true;
        let as_epilogue = self.may_be_epilogue(index);
        for candidate in &node.uses {
            if as_epilogue && self.fusion.groups[candidate.group as usize].space.rows.is_some() {
                continue;
            }
            let mut same_kernel = node.uses.iter().filter(|other| other.group == candidate.group);
            let one_path = same_kernel.all(|other| other.path == candidate.path);
            if is_reduction
                && self.fusion.paths.is_flat(self.graph, candidate.path)
                && node.uses.iter().any(|other| other.group != candidate.group)
            {
                self.had_choice = true;
                if !self.together {
                    continue;
                }
            }
            if one_path
                && self.admits(*candidate, index, is_reduction, true)
                && let Some(space) = self.space_to_store(*candidate, index)
                && !self.makes_cycle(index, candidate.group)
            {
                self.fusion.groups[candidate.group as usize].space = space;
                self.join(*candidate, index, true);
                return true;
            }
        }
        false
    }
}
