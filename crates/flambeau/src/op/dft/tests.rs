//! How lengths are cut, and that the shaders of every way through them are valid.

use super::schedule::{Shares, convolution, is_rough, passes, radices};
use super::{Dft, Kind};
use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::program::Program;
use crate::op::StructuredOp;
use crate::op::structured::Apart;
use crate::op::testing::{call, validate};

#[test]
fn lengths_are_products_of_few_radices() {
    for (length, want) in [
        (1, &[1][..]),
        (2, &[2]),
        (16, &[16]),
        (30, &[6, 5]),
        (512, &[8, 8, 8]),
        (1000, &[10, 10, 10]),
        (1024, &[16, 8, 8]),
        (4096, &[16, 16, 16]),
        (13 * 13 * 13, &[13, 13, 13]),
    ] {
        assert_eq!(radices(length), want, "{length}");
    }
    for length in (1..=4096).filter(|&length| !is_rough(length)) {
        let radices = radices(length);
        assert_eq!(crate::shape::product(&radices), length);
        assert!(radices.len() <= 5 && radices.iter().all(|&radix| radix <= 16), "{length}: {radices:?}");
    }
    assert!(is_rough(17) && is_rough(2 * 19) && !is_rough(2 * 3 * 5 * 7 * 11 * 13));
}

#[test]
fn long_lines_take_two_or_three_passes() {
    assert_eq!(passes(4096, 4096), Some(vec![4096]));
    assert_eq!(passes(8192, 4096), Some(vec![64, 128]));
    assert_eq!(passes(1 << 20, 4096), Some(vec![1024, 1024]));
    assert_eq!(passes(1 << 21, 4096), Some(vec![128; 3]));
    assert_eq!(passes(1 << 20, 2048).map(|factors| factors.len()), Some(3));
    assert_eq!(passes(1_000_000, 4096), Some(vec![1000, 1000]));
    assert_eq!(passes(1 << 37, 4096), None);
    // 2 · 100,003 − 1 numbers at least.
    assert_eq!(convolution(100_003, 4096), Some(262_144 / 16 * 15));
}

#[test]
fn workgroups_have_lines_side_by_side() {
    assert_eq!(Shares::of(512, 1 << 18, 4096, true), Shares { lines: 8, threads: 256 });
    assert_eq!(Shares::of(1024, 1 << 16, 4096, true), Shares { lines: 4, threads: 256 });
    assert_eq!(Shares::of(4096, 7, 4096, false), Shares { lines: 1, threads: 256 });
    assert_eq!(Shares::of(16, 3, 4096, false), Shares { lines: 4, threads: 32 });
    assert_eq!(Shares::of(1000, 100, 4096, false), Shares { lines: 2, threads: 128 });
}

fn shaders(kind: Kind, shape: &[usize], dim: usize, workgroup_memory: u32) -> Vec<Program> {
    let op = Dft { kind, inverse: false, dim, length: shape[dim] };
    let mut input = shape.to_vec();
    input[dim] = op.sizes().0;
    input.extend(op.pairs().0.then_some(2));
    let output = op.output(&crate::op::Meta::new(&input[..], DType::F32));
    let call = call(
        StructuredOp::Dft(Apart::new(op)),
        &[(&input, DType::F32)],
        &[(output.shape.dims(), DType::F32)],
    );
    validate(&StructuredCall { workgroup_memory, ..call })
}

#[test]
fn shaders_are_valid_and_few() {
    let complex = Kind::Complex;
    let (forth, back) = (Kind::ToSpectrum { doubled: false }, Kind::ToReal { doubled: true });
    for (kind, shape, dim, memory, programs) in [
        (complex, &[3, 4096][..], 1, 32, 1),
        (complex, &[3, 4096], 1, 16, 2),
        (complex, &[64, 1 << 20], 1, 32, 2),
        (complex, &[64, 1 << 20], 1, 16, 3),
        (complex, &[8, 1 << 14, 5], 1, 32, 2),
        (complex, &[512, 512, 512], 0, 32, 1),
        // The kernel, forth and back.
        (complex, &[5, 17, 2], 1, 32, 3),
        (complex, &[100_003], 0, 32, 6),
        // Half the numbers; where lines do not pair up, one more.
        (forth, &[7, 8192], 1, 32, 1),
        (forth, &[7, 1 << 14], 1, 32, 2),
        (forth, &[2, 5 * 5 * 5 * 7 * 7 * 2, 3], 1, 32, 3),
        (forth, &[8, 34, 3], 1, 32, 4),
        (forth, &[7, 15], 1, 32, 1),
        (forth, &[2, 12, 3], 1, 32, 1),
        (back, &[7, 8192], 1, 32, 1),
        (back, &[7, 1 << 14], 1, 32, 2),
        (back, &[2, 12, 3], 1, 32, 1),
        (back, &[7, 17], 1, 32, 3),
        (back, &[0, 8], 1, 32, 0),
    ] {
        let found = shaders(kind, shape, dim, memory << 10);
        assert_eq!(found.len(), programs, "{kind:?} {shape:?}");
        for program in &found {
            let words = program.source.split("var<workgroup> tile: array<vec2<f32>, ").nth(1);
            let words = words.map_or(0, |text| text.split('>').next().unwrap().parse().unwrap());
            assert!(8 * words <= memory << 10, "{kind:?} {shape:?}: {words} numbers");
        }
    }
}

#[test]
fn a_batch_of_another_size_and_the_way_back_need_no_other_shaders() {
    let text = |inverse, shape: &[usize]| {
        let op = Dft { kind: Kind::Complex, inverse, dim: 1, length: 48 };
        let call = call(StructuredOp::Dft(Apart::new(op)), &[(shape, DType::F32)], &[(shape, DType::F32)]);
        validate(&call)[0].source.clone()
    };
    let first = text(false, &[300, 48, 2]);
    assert_eq!(first, text(true, &[300, 48, 2]));
    assert_eq!(first, text(false, &[777, 48, 2]));
}
