//! Helpers for the unit tests of structured ops: calls made by hand, and validation of the shaders they give.

use super::{Meta, StructuredOp};
use crate::dtype::DType;
use crate::ir::access::Access;
use crate::ir::call::{LEAST_WORKGROUP_MEMORY, Operand, StructuredCall};
use crate::ir::kernel::Place;
use crate::ir::program::{Bound, Program, Tier, Trust};

/// A shape and a dtype.
pub(super) type Spec<'a> = (&'a [usize], DType);

/// A call of an op on contiguous operands.
pub(super) fn call(op: StructuredOp, inputs: &[Spec], outputs: &[Spec]) -> StructuredCall {
    let meta = |&(shape, dtype): &Spec| Meta::new(shape, dtype);
    let operand = |(index, spec): (usize, &Spec)| {
        let meta = meta(spec);
        Operand { place: Place::Input(index as u32), access: Access::contiguous(&meta.shape), meta }
    };
    let output = |(index, spec): (usize, &Spec)| (Place::Buffer(index as u32), meta(spec));
    StructuredCall {
        op: op.kernels(),
        inputs: inputs.iter().enumerate().map(operand).collect(),
        outputs: outputs.iter().enumerate().map(output).collect(),
        data_start: 0,
        node: 0,
        tier: Tier::General,
        block: None,
        subgroups: false,
        gpu: Default::default(),
        workgroup_memory: LEAST_WORKGROUP_MEMORY,
        units: None,
        precision: Default::default(),
        epilogue: None,
    }
}

/// Checks all texts of every shader of a call with naga, and its bindings against its declarations.
pub(super) fn validate(call: &StructuredCall) -> Vec<Program> {
    let with_subgroups = StructuredCall { subgroups: true, ..call.clone() };
    for program in call.op.wgsl(&with_subgroups).expect("the op has a shader") {
        validate_text(&program);
    }
    validate_tier(&StructuredCall { tier: Tier::Compact, ..call.clone() });
    validate_tier(call)
}

/// Checks the shaders of a call, and those that may take their places.
pub(super) fn validate_tier(call: &StructuredCall) -> Vec<Program> {
    let programs = call.op.wgsl(call).expect("the op has a shader");
    for (number, program) in programs.iter().enumerate() {
        validate_text(program);
        let next = programs.get(number + 1).filter(|next| next.completes);
        let block = next.map_or_else(|| program.params.clone().into(), |next| program.numbers_with(next));
        let specialised =
            StructuredCall { tier: Tier::Specialised, block: Some(block.clone()), ..call.clone() };
        let specialised = call.op.wgsl(&specialised).expect("the op has a shader");
        let completing = programs.iter().filter(|program| program.completes).count();
        assert_eq!(programs.len() - completing, specialised.len());
        if program.specialise {
            validate_text(&specialised[number]);
            let fits = match next {
                Some(_) => specialised[number].takes_the_place_of_both(program, &block),
                None => specialised[number].takes_the_place_of(program),
            };
            assert!(fits, "{}", specialised[number].source);
        }
        assert!(program.groups.iter().all(|&groups| (1..=65_535).contains(&groups)), "{:?}", program.groups);
        for bound in &program.bindings {
            if let Bound::Scratch(number) | Bound::ScratchRead(number) = bound {
                assert!(*number < program.scratch.len());
            }
        }
    }
    programs
}

fn validate_text(program: &Program) {
    let source = &*program.source;
    let module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|error| panic!("{}\n{source}", error.emit_to_string(source)));
    let capabilities = naga::valid::Capabilities::all();
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{error:?}\n{source}"));
    // Only Vulkan's drivers are given matrix units, and naga has ends of its own there.
    if source.contains("wgpu_cooperative_matrix") {
        let options = naga::back::spv::Options { lang_version: (1, 6), ..Default::default() };
        naga::back::spv::write_vec(&module, &info, &options, None)
            .unwrap_or_else(|error| panic!("{error:?}\n{source}"));
    }
    let resources = module.global_variables.iter().filter(|(_, variable)| variable.binding.is_some());
    let declared = program.bindings.len() + usize::from(!program.params.is_empty());
    assert_eq!(resources.count(), declared, "bindings of\n{source}");
    assert!(module.entry_points.iter().any(|entry| entry.name == program.entry));
    let vectors = program.params.len().div_ceil(4);
    assert!(
        program.params.is_empty()
            || program.finds_numbers
            || source.contains(&format!("params: array<vec4<u32>, {vectors}>"))
            || program.trust == Trust::CHECKED
    );
}
