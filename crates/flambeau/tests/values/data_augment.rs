//! Augmentations with their numbers given, on every device, against PyTorch (`tools/reference/augment.py`); drawn
//! ones, CPU against GPU.

use crate::common::{assert_close, devices, values};
use flambeau::data::augment::*;
use flambeau::prelude::*;
use safetensors::SafeTensors;

struct Reference(SafeTensors<'static>);

impl Reference {
    fn open() -> Reference {
        let bytes = include_bytes!("../data/augment.safetensors");
        Reference(SafeTensors::deserialize(bytes).expect("the reference file is whole"))
    }

    fn numbers(&self, name: &str) -> (Vec<usize>, Vec<f32>) {
        let view = self.0.tensor(name).expect("a tensor of that name");
        (view.shape().to_vec(), bytemuck_floats(view.data()))
    }

    fn tensor(&self, name: &str, device: &Device) -> Tensor {
        let (shape, numbers) = self.numbers(name);
        Tensor::from_slice(&numbers, shape, device)
    }

    #[track_caller]
    fn check(&self, name: &str, got: Result<Tensor>) {
        let (shape, numbers) = self.numbers(name);
        let got = got.unwrap();
        assert_eq!(got.shape().dims(), shape, "{name}");
        let numbers: Vec<f64> = numbers.into_iter().map(f64::from).collect();
        assert_close(&values(&got), &numbers, 1e-5, 1e-5);
    }
}

fn bytemuck_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

#[test]
fn given_numbers_as_pytorch() {
    let reference = Reference::open();
    for device in devices() {
        let x = reference.tensor("x", &device);
        let integers = |numbers: [i32; 4]| Tensor::new(numbers, &device);
        let floats = |numbers: [f64; 4]| Tensor::new(numbers, &device);
        let cropped = crop(&x, &integers([0, 3, 1, 4]), &integers([5, 0, 2, 1]), (5, 7), 2);
        reference.check("crop", cropped);
        let which = Tensor::new([true, false, true, false], &device);
        reference.check("flip_horizontal", flip(&x, &which, 3));
        reference.check("flip_vertical", flip(&x, &which, 2));
        let change = Affine {
            angle: floats([0.3, -1.2, 0.0, 2.5]),
            scale: floats([1.0, 0.8, 1.3, 1.1]),
            shear: floats([0.0, 0.2, -0.3, 0.1]),
            shift: (floats([0.0, 1.5, -2.25, 0.4]), floats([0.0, -0.7, 1.0, 0.9])),
        };
        let theta = change.theta(6, 9).unwrap();
        reference.check("theta", Ok(theta.clone()));
        reference.check("affine", affine(&x, &theta));
        reference.check("free_affine", affine(&x, &reference.tensor("free_theta", &device)));
        let factor = floats([0.0, 0.5, 1.0, 1.7]);
        reference.check("brightness", brightness(&x, &factor));
        reference.check("contrast", contrast(&x, &factor));
        reference.check("saturation", saturation(&x, &factor));
        let normalize = Normalize::new(&[0.4, 0.5, 0.6], &[0.2, 0.25, 0.3], &device).unwrap();
        reference.check("normalize", normalize.apply(&x, &Generator::new(0)));
        reference.check("erase", erase(&x, &integers([-1, 0, 3, 5]), &integers([2, 0, 7, -2]), (3, 4)));
        reference.check("mixup", mixup(&x, &integers([2, 0, 3, 1]), 0.3));
    }
}

/// Everything at once, drawn: the same numbers on every device, others with another seed.
#[test]
fn drawn_numbers_are_the_same_on_every_device() {
    let draw = |device: &Device, seed: u64| {
        let pipeline = Compose::new()
            .then(RandomCrop::new(8, 8).with_padding(2))
            .then(RandomHorizontalFlip::default())
            .then(RandomVerticalFlip::default())
            .then(RandomAffine::new(30.0).with_shift(0.1, 0.2).with_scale(0.8, 1.2).with_shear(10.0))
            .then(ColorJitter { brightness: 0.3, contrast: 0.3, saturation: 0.3 })
            .then(Cutout { size: 3 })
            .then(Normalize::new(&[0.5; 3], &[0.25; 3], device).unwrap());
        let generator = Generator::new(seed);
        let x = Tensor::rand([5, 3, 8, 8], &Generator::new(77), device);
        let y = Tensor::new([0, 1, 2, 0, 1], device);
        let x = pipeline.apply(&x, &generator).unwrap();
        let (x, y) = Mixup { alpha: 0.4, classes: 3 }.apply(&x, &y, &generator).unwrap();
        [values(&x), values(&y)].concat()
    };
    let expected = draw(&Device::cpu(), 1);
    assert_ne!(expected, draw(&Device::cpu(), 2));
    for device in devices() {
        // Sines, cosines and quotients differ in their last bits from device to device.
        assert_close(&draw(&device, 1), &expected, 2e-5, 1e-5);
    }
}

#[test]
fn pictures_differ_within_a_batch() {
    for device in devices() {
        let ramp = Tensor::arange(0.0, 64.0, 1.0, &device).reshape([1, 1, 8, 8]).expand([32, 1, 8, 8]);
        let crops = values(&RandomCrop::new(4, 4).apply(&ramp, &Generator::new(3)).unwrap());
        let mut firsts: Vec<i64> = crops.chunks(16).map(|picture| picture[0] as i64).collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert!(firsts.len() > 10, "{firsts:?}");
        assert!(firsts.iter().all(|first| first % 8 <= 4 && first / 8 <= 4));
        let flips = values(&RandomHorizontalFlip::default().apply(&ramp, &Generator::new(4)).unwrap());
        let flipped = flips.chunks(64).filter(|picture| picture[0] == 7.0).count();
        assert!((8..=24).contains(&flipped), "{flipped}");
    }
}

#[test]
fn wrong_shapes_are_errors() {
    let device = Device::cpu();
    let flat = Tensor::zeros([4, 4], &device);
    let pictures = Tensor::zeros([2, 2, 4, 4], &device);
    let two = Tensor::new([0, 0], &device);
    let three = Tensor::new([0, 0, 0], &device);
    for result in [
        RandomCrop::new(2, 2).apply(&flat, &Generator::new(1)),
        RandomCrop::new(5, 2).apply(&pictures, &Generator::new(1)),
        RandomAffine::new(3.0).apply(&flat, &Generator::new(1)),
        ColorJitter { contrast: 0.1, ..Default::default() }.apply(&pictures, &Generator::new(1)),
        Normalize::new(&[0.0], &[1.0], &device).unwrap().apply(&pictures, &Generator::new(1)),
        crop(&pictures, &three, &two, (2, 2), 0),
        flip(&pictures, &two, 3),
        affine(&pictures, &two),
        erase(&pictures, &two, &three, (1, 1)),
        mixup(&two, &two, 0.5),
    ] {
        assert!(matches!(result, Err(Error::Shape { .. } | Error::DType { .. })), "{result:?}");
    }
    assert!(Normalize::new(&[0.0], &[0.0], &device).is_err());
}
