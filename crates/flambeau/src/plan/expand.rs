//! Writing a captured graph out: every composite becomes the primitives it is made of.
//!
//! This happens once for every plan. The graph with composites stays the plan's key; what a run needs to get from its
//! snapshot to the expanded graph is in [`Expanded`].

use super::graph::{ENTRY_BITS, Graph, GraphNode, List, Ref, Snapshot, Visited};
use crate::dtype::Scalar;
use crate::ir::Precision;
use crate::op::Op;
use crate::op::composite::CompositeOp;
use crate::tensor::Tensor;
use crate::tensor::node::{Node, State, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::Arc;

/// A graph of primitives, and how it hangs together with the graph it was made from.
pub(crate) struct Expanded {
    pub graph: Graph,
    pub key: KeyMap,
}

/// Where inputs, data and lines of a expanded graph are found in a snapshot of the graph it was made from.
#[derive(Debug)]
pub(crate) struct KeyMap {
    /// For each input of the expanded graph, the input of the snapshot.
    pub inputs: Vec<u32>,
    /// Numbers to be put after the snapshot's data.
    pub literals: Vec<Scalar>,
    /// For each node of the expanded graph, the one it was made from.
    pub origins: Vec<u32>,
}

thread_local! {
    static IS_WRITING: Cell<bool> = const { Cell::new(false) };
}

/// Does this thread make nodes for a plan? They are nobody's pending work.
pub(crate) fn is_expanding() -> bool {
    IS_WRITING.get()
}

/// While it lives, this thread makes nodes for a plan. A panic on the way ends it as well.
struct Writing;

impl Writing {
    fn start() -> Writing {
        IS_WRITING.set(true);
        Writing
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        IS_WRITING.set(false);
    }
}

/// Writes out what a capture of number `before` has found; `capture` is this one's number.
pub(super) fn expand(snapshot: &Snapshot, before: u64, capture: u64) -> Expanded {
    let first = snapshot.graph();
    let mut count = 0;
    let first_inputs = first.nodes.iter().map(|node| {
        let at = count;
        count += if node.op.is_none() { node.outputs.len() as u32 } else { 0 };
        at
    });
    let mut writer = Writer {
        capture,
        before,
        first,
        first_inputs: first_inputs.collect(),
        data: snapshot.data.len() as u32,
        list: List::new(),
        numbers: FxHashMap::default(),
        expanded: FxHashMap::default(),
        made: Vec::new(),
        key: KeyMap { inputs: Vec::new(), literals: Vec::new(), origins: Vec::new() },
    };
    let _writing = Writing::start();
    // A root that is not found is no value of the graph, which `verify` says.
    let mut roots = vec![Ref { node: u32::MAX, output: 0 }; first.roots.len()];
    for (node, place) in &snapshot.targets {
        for value in Value::all(node) {
            writer.add(&value, 0);
            roots[place + value.output as usize] = writer.resolve(&value);
        }
    }
    Expanded { graph: Graph { nodes: writer.list.into_nodes(), roots }, key: writer.key }
}

struct Writer<'a> {
    capture: u64,
    before: u64,
    /// The graph that is expanded.
    first: &'a Graph,
    /// The place of each of its nodes among its inputs, if it is one.
    first_inputs: Vec<u32>,
    /// How many numbers it has.
    data: u32,
    list: List,
    /// Constants that stand for numbers of composites, with the numbers' places in the data. They live as long as the
    /// list, used or not: another node must not get the address of one.
    numbers: FxHashMap<*const Node, (Arc<Node>, u32)>,
    /// What the results of composites have become.
    expanded: FxHashMap<*const Node, SmallVec<[Ref; 1]>>,
    /// Tensors made on the way: nodes are known by their addresses.
    made: Vec<Tensor>,
    key: KeyMap,
}

impl Writer<'_> {
    /// The entry that a capture has given to a node.
    fn entry(node: &Node, capture: u64) -> Option<u32> {
        let mark = node.mark();
        (mark >> ENTRY_BITS == capture).then_some((mark & ((1 << ENTRY_BITS) - 1)) as u32)
    }

    fn mark(&self, node: &Node, entry: u32) {
        node.set_mark(self.capture << ENTRY_BITS | u64::from(entry));
    }

    fn resolve(&self, value: &Value) -> Ref {
        match self.expanded.get(&Arc::as_ptr(&value.node)) {
            Some(results) => results[value.output as usize],
            None => {
                let node = Self::entry(&value.node, self.capture).expect("inputs come before what uses them");
                Ref { node, output: value.output }
            }
        }
    }

    /// Lists a value after what it needs. What the graph does not have comes from its node `origin`.
    fn add(&mut self, value: &Value, origin: u32) {
        let mut stack: Vec<(Value, bool)> = vec![(value.clone(), false)];
        while let Some((value, expanded)) = stack.pop() {
            let node = &value.node;
            if Self::entry(node, self.capture).is_some() {
                continue;
            }
            let listed = Self::entry(node, self.before);
            let origin = listed.unwrap_or(origin);
            let GraphNode { region, precision, .. } = self.first.nodes[origin as usize];
            match &*node.state() {
                State::Ready(storages) => {
                    let from = listed.map(|entry| self.first_inputs[entry as usize]);
                    let from = from.expect("a composite is made of its operands only");
                    self.key.inputs.extend(from..from + storages.len() as u32);
                    let inputs = SmallVec::new();
                    let (region, precision) = (0, Precision::Highest);
                    self.place(
                        Visited { node, op: None, inputs, data: &[], data_start: 0, region, precision },
                        origin,
                    );
                }
                State::Pending { inputs, .. } if !expanded => {
                    stack.push((value.clone(), true));
                    stack.extend(inputs.iter().map(|input| (input.clone(), false)));
                }
                State::Pending { op: Op::Composite(op), inputs, data } => {
                    let data_start = listed.map(|entry| self.first.nodes[entry as usize].data_start);
                    let results = self.write(op, inputs, data, data_start);
                    let list = |result: &Tensor| {
                        self.add(result.value(), origin);
                        self.resolve(result.value())
                    };
                    let places: SmallVec<[Ref; 1]> = results.iter().map(list).collect();
                    self.mark(node, places[0].node);
                    self.expanded.insert(Arc::as_ptr(node), places);
                    self.made.extend(results);
                }
                State::Pending { op, inputs, data } => {
                    let inputs = inputs.iter().map(|input| self.resolve(input)).collect();
                    let known = listed.map(|entry| self.first.nodes[entry as usize].data_start);
                    let known = known
                        .or_else(|| self.numbers.get(&Arc::as_ptr(node)).map(|(_, data_start)| *data_start));
                    let (data_start, data) = match (known, &data[..]) {
                        (_, []) => (0, &[][..]),
                        (Some(data_start), data) => (data_start, data),
                        // Always the same number: such nodes are merged.
                        (None, data) => (self.literal(data), &[][..]),
                    };
                    let of_products = op.multiplies_f32(&node.outputs);
                    let precision = if of_products { precision } else { Precision::Highest };
                    let op = Some(op);
                    self.place(Visited { node, op, inputs, data, data_start, region, precision }, origin);
                }
            }
        }
    }

    fn place(&mut self, met: Visited, origin: u32) {
        let node = met.node;
        let entry = self.list.entry(met).expect("a new list takes every node");
        if entry as usize == self.key.origins.len() {
            self.key.origins.push(origin);
        }
        self.mark(node, entry);
    }

    /// The results of a composite, whose numbers start at `data_start`; one within another has literal ones.
    fn write(
        &mut self,
        op: &CompositeOp,
        inputs: &[Value],
        data: &[Scalar],
        data_start: Option<u32>,
    ) -> SmallVec<[Tensor; 1]> {
        let inputs: SmallVec<[Tensor; 4]> =
            inputs.iter().map(|input| Tensor::from_parts(input.clone(), None)).collect();
        let _mode = crate::autograd::no_grad_guard();
        let _plain = crate::autograd::set_autocast_enabled(false);
        let (results, used) = op.write(&inputs, data).expect("the operands of a composite have been checked");
        if let Some(first) = data_start {
            let place = |(node, index): (Arc<Node>, u32)| (Arc::as_ptr(&node), (node, first + index));
            self.numbers.extend(used.into_iter().map(place));
        }
        results
    }

    /// The place of literal numbers in the data.
    fn literal(&mut self, data: &[Scalar]) -> u32 {
        let literals = &mut self.key.literals;
        let same = |known: &[Scalar]| known.iter().zip(data).all(|(a, b)| is_identical(*a, *b));
        let at = literals.windows(data.len()).position(same).unwrap_or_else(|| {
            literals.extend_from_slice(data);
            literals.len() - data.len()
        });
        self.data + at as u32
    }
}

fn is_identical(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}

/// Is there anything to write out?
pub(super) fn has_composites(nodes: &[GraphNode]) -> bool {
    nodes.iter().any(|node| matches!(node.op, Some(Op::Composite(_))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::loss::CrossEntropyLoss;
    use crate::nn::models::Mlp;
    use crate::nn::{Forward, Module, Parameter};
    use crate::op::composite::Composite;
    use crate::plan::graph::capture;
    use crate::{Device, block_on};
    use smallvec::smallvec;

    /// a x + b x² − 1, with a and b as numbers.
    static POLYNOMIAL: Composite = Composite::plain("polynomial", |of| {
        let x = &of.inputs[0];
        let linear = x.try_mul(of.number(0, x))?;
        let square = x.try_mul(x)?.try_mul(of.number(1, x))?;
        Ok(smallvec![linear.try_add(square)?.try_sub(1.0)?])
    });

    fn polynomial(x: &Tensor, a: f64, b: f64) -> Tensor {
        let results = Tensor::composite(&POLYNOMIAL, &[], &[x], &[a, b], smallvec![x.meta().clone()]);
        results.unwrap().remove(0)
    }

    fn values(tensor: &Tensor) -> Vec<f64> {
        block_on(tensor.to_f64_vec()).unwrap()
    }

    fn snapshot(tensors: &[&Tensor]) -> Snapshot {
        capture(&tensors.iter().map(|tensor| tensor.value().clone()).collect::<Vec<_>>(), |_| false)
    }

    #[test]
    fn numbers_are_data_and_the_rest_is_the_key() {
        let x = Tensor::new([1.0, 2.0], &Device::cpu());
        let (one, other) = (polynomial(&x, 2.0, 3.0), polynomial(&x, -1.0, 0.5));
        let (first, second) = (snapshot(&[&one]), snapshot(&[&other]));
        assert!(first.graph() == second.graph());
        assert_eq!(first.graph().nodes.len(), 2, "the input and the composite");
        let literals = first.expanded.unwrap().key.literals;
        assert_eq!((first.data.len(), literals), (2, vec![Scalar::Float(1.0)]));
        assert_eq!((values(&one), values(&other)), (vec![4.0, 15.0], vec![-1.5, -1.0]));
    }

    #[test]
    fn what_composites_have_in_common_is_computed_once() {
        let x = Tensor::new([1.0, 2.0], &Device::cpu());
        let (one, other) = (polynomial(&x, 2.0, 3.0), polynomial(&x, -1.0, 0.5));
        let snapshot = snapshot(&[&one, &other]);
        let expanded = snapshot.expanded.unwrap();
        // x, x², and for each of both two numbers, two products, a sum and a difference; the literal 1 is one node.
        assert_eq!(expanded.graph.nodes.len(), 2 + 2 * 6 + 1);
        assert_eq!(expanded.key.origins.len(), expanded.graph.nodes.len());
    }

    /// x plus one and x times two.
    static PAIR: Composite =
        Composite::plain("pair", |of| Ok(smallvec![of.inputs[0].try_add(1.0)?, of.inputs[0].try_mul(2.0)?]));

    #[test]
    fn a_composite_has_several_results() {
        let x = Tensor::new([1.0, 2.0], &Device::cpu());
        let metas = smallvec![x.meta().clone(), x.meta().clone()];
        let results = Tensor::composite(&PAIR, &[], &[&x], &[], metas).unwrap();
        assert_eq!((values(&results[0]), values(&results[1])), (vec![2.0, 3.0], vec![2.0, 4.0]));
    }

    /// x plus one, with a number that nothing uses.
    static UNUSED: Composite = Composite::plain("unused", |of| {
        of.number(0, &of.inputs[0]);
        Ok(smallvec![of.inputs[0].try_add(1.0)?])
    });

    #[test]
    fn a_number_that_is_not_used_is_nobody_elses() {
        let x = Tensor::new([1.0, 2.0], &Device::cpu());
        let unused = |x: &Tensor| {
            let results = Tensor::composite(&UNUSED, &[], &[x], &[f64::NAN], smallvec![x.meta().clone()]);
            results.unwrap().remove(0)
        };
        let sum = (0..20).fold(x, |x, _| polynomial(&unused(&x), 1.0, 0.0));
        assert_eq!(values(&sum), [1.0, 2.0]);
    }

    #[test]
    fn the_derivative_is_that_of_what_it_is_made_of() {
        let x = Tensor::new([1.0, 2.0], &Device::cpu()).requires_grad();
        polynomial(&polynomial(&x, 2.0, 3.0), 1.0, 1.0).sum(..).backward().unwrap();
        // (p + p² − 1)′ = (1 + 2p) p′ with p = 2x + 3x² − 1 and p′ = 2 + 6x.
        assert_eq!(values(&x.grad().unwrap()), [9.0 * 8.0, 31.0 * 14.0]);
    }

    #[test]
    fn a_training_step_is_described_by_few_nodes() {
        let device = Device::cpu();
        let net = Mlp::new(&[12, 8, 3], &device);
        net.parameters().iter().for_each(|parameter| parameter.value().eval().unwrap());
        let x = Tensor::ones([4, 12], &device);
        let loss = CrossEntropyLoss::default().forward(&net.forward(&x), &Tensor::new([0, 1, 2, 0], &device));
        loss.backward().unwrap();
        let grads: Vec<Tensor> = net.parameters().iter().filter_map(Parameter::grad).collect();
        let wanted: Vec<&Tensor> = grads.iter().chain([&loss]).collect();
        let snapshot = snapshot(&wanted);
        let primitives = snapshot.expanded.as_ref().unwrap().graph.nodes.len();
        let described = snapshot.graph().nodes.len();
        assert!(described <= 24 && primitives > 2 * described, "{described} nodes for {primitives}");
    }
}
