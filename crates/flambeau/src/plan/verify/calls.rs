//! Legal calls of structured primitives, and their epilogues.

use super::access::{Starts, stays_inside, takes_coordinates};
use super::fused::Checker;
use super::{Contents, Verdict};
use crate::ir::call::{Layout, Operand, StructuredCall};
use crate::ir::kernel::{Fused, InstKind};
use crate::op::{Op, StructuredOp};
use crate::plan::fuse::MAX_BINDINGS;
use crate::plan::graph::Graph;

pub(super) fn is_legal(
    graph: &Graph,
    contents: &Contents,
    starts: &Starts,
    call: &StructuredCall,
) -> Verdict {
    stands_for_its_node(graph, call)?;
    for (position, operand) in call.inputs.iter().enumerate() {
        let legal = operand_is_legal(contents, starts, operand, call.op.layout(position));
        legal.map_err(|problem| format!("operand {position}: {problem}"))?;
    }
    match &call.epilogue {
        None => call.outputs.iter().try_for_each(|(place, meta)| contents.hold(*place, meta)),
        Some(fused) => {
            let legal = epilogue_is_legal(call, fused).and_then(|()| {
                Checker { graph, contents, starts, fused, result: Some(&call.outputs[0].1) }.check()
            });
            legal.map_err(|problem| format!("epilogue: {problem}"))
        }
    }
}

/// The call has the operands, the results and the precision of its node. (A pack may have found some of its operands in place.)
fn stands_for_its_node(graph: &Graph, call: &StructuredCall) -> Verdict {
    let node = graph.nodes.get(call.node as usize);
    let fits = node.is_some_and(|node| {
        let op = node.op.as_ref().and_then(Op::structured);
        let packs = matches!(op, Some(StructuredOp::Pack(_)));
        let metas = call.inputs.iter().map(|operand| &operand.meta);
        let operands = packs || metas.eq(node.inputs.iter().map(|&input| graph.meta(input)));
        op.is_some_and(|op| op.name() == call.op.name())
            && operands
            && node.precision == call.precision
            && call.outputs.iter().map(|(_, meta)| meta).eq(&node.outputs)
    });
    match fits {
        true => Ok(()),
        false => Err(format!("it is not what node {} computes", call.node)),
    }
}

/// An operand lies as the op wants it, inside of its buffer.
fn operand_is_legal(contents: &Contents, starts: &Starts, operand: &Operand, layout: Layout) -> Verdict {
    let (dtype, numel) = contents.at(operand.place)?;
    let (access, meta) = (&operand.access, &operand.meta);
    if dtype != meta.dtype {
        return Err(format!("{:?} is {dtype}, not {}", operand.place, meta.dtype));
    }
    let lies_so = match layout {
        Layout::Contiguous => access.is_contiguous(),
        Layout::Strided => access.is_strided(),
    };
    if !lies_so && meta.numel() > 0 {
        return Err(format!("it must be {layout:?}: {access:?}"));
    }
    takes_coordinates(access, &meta.shape)?;
    stays_inside(access, starts, numel, 0)
}

/// An epilogue is elementwise work on the only result of a call, read in its order.
fn epilogue_is_legal(call: &StructuredCall, fused: &Fused) -> Verdict {
    if call.outputs.len() != 1 || !call.op.takes_epilogue() {
        return Err(format!("{} takes none", call.op.name()));
    }
    let bindings = call.inputs.len() + fused.inputs.len() + fused.outputs.len();
    if bindings > MAX_BINDINGS {
        return Err(format!("{bindings} buffers are bound"));
    }
    if fused.kept != fused.space.len() || fused.outer_count() != call.outputs[0].1.numel() {
        return Err(format!("it runs over {:?}, not over the results", fused.space));
    }
    if fused.outputs.first().map(|output| output.place) != Some(call.outputs[0].0) {
        return Err(format!("the call's result is {:?}, not its first", call.outputs[0].0));
    }
    for (position, inst) in fused.insts.iter().enumerate() {
        let legal = match &inst.kind {
            InstKind::Load { operand, access } => *operand != fused.inputs.len() || access.is_contiguous(),
            InstKind::Bits { .. } | InstKind::Healthy | InstKind::Gather { .. } | InstKind::Reduce { .. } => {
                false
            }
            _ => true,
        };
        if !legal {
            return Err(format!("instruction {position} is not elementwise work on the result in its order"));
        }
    }
    Ok(())
}
