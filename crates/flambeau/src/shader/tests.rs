//! Texts of fused kernels made by hand: naga accepts them in both tiers, with subgroups and without, and they read and reduce as
//! they should.

use super::codegen::programs;
use crate::dtype::DType;
use crate::ir::access::Access;
use crate::ir::kernel::{Fused, Inst, InstKind, Output, Place};
use crate::ir::program::{Program, Tier};
use crate::ir::{Reduce, ReduceKind};
use crate::shape::Shape;

/// An access with these strides.
fn strided(space: &[usize], strides: &[i64]) -> Access {
    let mut access = Access::contiguous(&Shape::from(space));
    for (axis, &stride) in access.levels[0].axes.iter_mut().zip(strides) {
        axis.stride = stride;
    }
    access
}

fn load(operand: usize, dtype: DType, inner: bool, access: Access) -> Inst {
    Inst { kind: InstKind::Load { operand, access }, dtype, inner, node: 0 }
}

/// A reduction of a matrix of these strides, kept coordinate first.
fn reduction(kind: ReduceKind, space: [usize; 2], strides: [i64; 2]) -> Fused {
    let dtype = if kind.is_index() { DType::I32 } else { DType::F32 };
    let read = load(0, DType::F32, true, strided(&space, &strides));
    let reduce = Inst {
        kind: InstKind::Reduce { arg: 0, reduce: Reduce { kind, dims: [1].into_iter().collect() } },
        dtype,
        inner: false,
        node: 0,
    };
    let access = Access::contiguous(&Shape::from(&space[..1]));
    Fused {
        space: space.to_vec(),
        kept: 1,
        insts: vec![read, reduce],
        inputs: vec![(Place::Input(0), DType::F32)],
        outputs: vec![Output { inst: 1, place: Place::Buffer(0), dtype, access, per_element: false }],
        phases: Vec::new(),
    }
}

/// Rows of a matrix, chosen by an index for each.
fn rows_by_index(space: [usize; 2]) -> Fused {
    let width = space[1] as i64;
    let index = load(1, DType::I32, false, strided(&space, &[1, 0]));
    let access = strided(&space, &[0, 1]);
    let kind = InstKind::Gather { operand: 0, access, index: 0, stride: width, size: 100 };
    let gather = Inst { kind, dtype: DType::F32, inner: false, node: 0 };
    let access = Access::contiguous(&Shape::from(&space[..]));
    Fused {
        space: space.to_vec(),
        kept: 2,
        insts: vec![index, gather],
        inputs: vec![(Place::Input(0), DType::F32), (Place::Input(1), DType::I32)],
        outputs: vec![Output {
            inst: 1,
            place: Place::Buffer(0),
            dtype: DType::F32,
            access,
            per_element: false,
        }],
        phases: Vec::new(),
    }
}

/// A kernel's general shaders, after naga has accepted those of all tiers.
fn valid(kernel: &Fused, subgroups: bool) -> Vec<Program> {
    valid_after(Tier::Compact, kernel, subgroups);
    valid_after(Tier::General, kernel, subgroups)
}

/// A kernel's first shaders, after naga has accepted them and those that may take their places.
fn valid_after(first: Tier, kernel: &Fused, subgroups: bool) -> Vec<Program> {
    let general = programs(kernel, 256, first, subgroups, None);
    for (number, general) in general.iter().enumerate() {
        let block = general.params.clone().into();
        let specialised = programs(kernel, 256, Tier::Specialised, subgroups, Some(&block));
        let specialised = &specialised[number];
        assert!(specialised.takes_the_place_of(general), "{}", specialised.source);
        for program in [general, specialised] {
            let source = &*program.source;
            let module = naga::front::wgsl::parse_str(source)
                .unwrap_or_else(|error| panic!("{}\n{source}", error.emit_to_string(source)));
            naga::valid::Validator::new(
                naga::valid::ValidationFlags::all(),
                if subgroups { naga::valid::Capabilities::SUBGROUP } else { Default::default() },
            )
            .validate(&module)
            .unwrap_or_else(|error| panic!("{error:?}\n{source}"));
        }
    }
    general
}

fn count(program: &Program, text: &str) -> usize {
    program.source.matches(text).count()
}

#[test]
fn a_workgroup_reduces_with_two_barriers_or_one() {
    for kind in ReduceKind::ALL {
        for (space, shaders) in [([600, 4096], 1), ([600, 77], 1), ([2, 1 << 20], 2), ([3, 99_999], 2)] {
            let kernel = reduction(kind, space, [space[1] as i64, 1]);
            let (without, with) = (valid(&kernel, false), valid(&kernel, true));
            assert_eq!((without.len(), with.len()), (shaders, shaders), "{kind:?} {space:?}");
            for (without, with) in without.iter().zip(&with) {
                assert!((1..=2).contains(&count(without, "workgroupBarrier")));
                assert_eq!(count(without, "subgroup"), 0);
                assert_eq!(count(with, "workgroupBarrier"), 1);
                assert!(count(with, "subgroupShuffleXor") >= 3);
                assert_eq!(without.params, with.params);
            }
            let fours = space[1].is_multiple_of(4);
            assert_eq!(count(&without[0], "in0: array<vec4<f32>>") == 1, fours, "{space:?}");
        }
    }
}

#[test]
fn columns_are_read_in_fours_with_one_barrier() {
    for kind in ReduceKind::ALL {
        for (outer, inner) in [(4096, 4096), (1024, 100), (130, 1000), (36, 5000)] {
            let kernel = reduction(kind, [outer, inner], [1, outer as i64]);
            let shaders = valid(&kernel, false);
            assert_eq!(count(&shaders[0], "workgroupBarrier"), 1);
            let fours = outer % 4 == 0 && outer >= 128;
            assert_eq!(count(&shaders[0], "in0: array<vec4<f32>>") == 1, fours, "{outer}");
            valid(&kernel, true);
        }
    }
}

#[test]
fn rows_found_by_an_index_are_copied_in_fours() {
    let [wide] = &valid(&rows_by_index([4096, 4096]), false)[..] else { panic!("one shader") };
    assert_eq!(count(wide, "in0: array<vec4<f32>>") + count(wide, "out0: array<vec4<f32>>"), 2);
    assert_eq!((count(wide, "in1["), count(wide, "in0[")), (1, 1), "{}", wide.source);
    for narrow in [[4096, 4095], [16, 16]] {
        let [single] = &valid(&rows_by_index(narrow), false)[..] else { panic!("one shader") };
        assert_eq!(count(single, "vec4<f32>"), 0, "{narrow:?}");
    }
}
