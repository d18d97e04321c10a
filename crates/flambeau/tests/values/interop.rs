//! Tensors to and from arrays of ndarray, pictures, and serde's formats.

use crate::common::{devices, values};
use flambeau::prelude::*;
use image::{DynamicImage, Rgb, RgbImage};
use ndarray::{Array2, Array3, ArrayD, IxDyn, ShapeBuilder, s};

/// Every layout has the values that ndarray says it has.
#[test]
fn arrays_in_every_layout() {
    let array = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as f32);
    let mut columns = Array2::zeros((3, 4).f());
    columns.assign(&array.slice(s![1, .., ..]));
    let views = [
        array.view().into_dyn(),
        array.t().into_dyn(),
        array.view().permuted_axes([1, 2, 0]).into_dyn(),
        array.slice(s![.., ..;2, 1..]).into_dyn(),
        array.slice(s![..;-1, .., ..]).into_dyn(),
        array.slice(s![0, 1, 2]).into_dyn(),
        array.slice(s![.., 0..0, ..]).into_dyn(),
        array.slice(s![0..1, .., 2..3]).into_dyn(),
        columns.view().into_dyn(),
    ];
    for device in devices() {
        for view in &views {
            let tensor = Tensor::from_ndarray(view, &device).unwrap();
            assert_eq!(tensor.shape().dims(), view.shape());
            assert_eq!(tensor.to_vec_blocking::<f32>().unwrap(), view.iter().copied().collect::<Vec<_>>());
            assert_eq!(tensor.to_ndarray_blocking::<f32>().unwrap(), *view);
        }
        let whole = ArrayD::from_shape_vec(IxDyn(&[2]), vec![3i32, -4]).unwrap();
        let tensor = Tensor::from_ndarray(&whole, &device).unwrap();
        assert_eq!(tensor.dtype(), DType::I32);
        let error = tensor.to_ndarray_blocking::<f32>().unwrap_err().to_string();
        assert!(error.contains("the tensor is i32"), "{error}");
    }
}

#[test]
fn pictures_there_and_back() {
    let picture = RgbImage::from_fn(5, 3, |x, y| Rgb([(x * 50) as u8, (y * 100) as u8, 255]));
    for device in devices() {
        let tensor = Tensor::from_image(&DynamicImage::from(picture.clone()), &device).unwrap();
        assert_eq!(tensor.shape().dims(), [3, 3, 5]);
        assert_eq!(
            values(&tensor.select(0, 0).select(0, 2)),
            [0.0, 50.0, 100.0, 150.0, 200.0].map(|x: f32| f64::from(x / 255.0))
        );
        assert_eq!(tensor.to_rgb_image_blocking().unwrap(), picture);
        let bytes = (&tensor * 255.0).round().to_dtype(DType::U8);
        assert_eq!(bytes.to_rgb_image_blocking().unwrap(), picture);
        let grey = DynamicImage::from(picture.clone()).to_luma8();
        let tensor = Tensor::from_image(&grey.clone().into(), &device).unwrap();
        assert_eq!(tensor.shape().dims(), [1, 3, 5]);
        assert_eq!(tensor.to_grey_image_blocking().unwrap(), grey);
        let error = tensor.to_rgb_image_blocking().unwrap_err().to_string();
        assert!(error.contains("to_rgb_image: shape [1, 3, 5] does not have 3 channels"), "{error}");
        let whole = Tensor::new([[1, 2]], &device).to_grey_image_blocking().unwrap_err().to_string();
        assert!(whole.contains("to_grey_image: dtype i32"), "{whole}");
    }
}

#[test]
fn tensors_as_json() {
    let device = Device::cpu();
    let tensors = [
        (
            Tensor::new([[0.1f32, -2.0], [f32::NAN, f32::INFINITY]], &device),
            "[0.10000000149011612,-2.0,\"NaN\",\"inf\"]",
        ),
        (Tensor::from_slice(&[0.1f64, f64::NEG_INFINITY], 2, &device), "[0.1,\"-inf\"]"),
        (Tensor::from_slice(&[i64::MAX, 0], 2, &device), "[9223372036854775807,0]"),
        (Tensor::new([255u8], &device), "[255]"),
        (Tensor::new([true, false], &device), "[true,false]"),
        (Tensor::new(1.5f32, &device).to_dtype(DType::F16), "[1.5]"),
        (Tensor::zeros([2, 0], &device), "[]"),
    ];
    for (tensor, expected) in tensors {
        let text = serde_json::to_string(&tensor).unwrap();
        let shape = format!("{:?}", tensor.shape().dims()).replace(' ', "");
        assert_eq!(
            text,
            format!("{{\"dtype\":\"{}\",\"shape\":{shape},\"values\":{expected}}}", tensor.dtype())
        );
        let back: Tensor = serde_json::from_str(&text).unwrap();
        assert_eq!((back.dtype(), back.shape()), (tensor.dtype(), tensor.shape()));
        let bytes = |x: &Tensor| flambeau::block_on(x.to_bytes()).unwrap();
        assert_eq!(bytes(&back), bytes(&tensor), "{text}");
    }
    for device in devices() {
        let text = serde_json::to_string(&Tensor::new([1.0, 2.0], &device)).unwrap();
        assert_eq!(text, r#"{"dtype":"f32","shape":[2],"values":[1.0,2.0]}"#);
    }
    for (text, expected) in [
        (r#"{"dtype":"f8","shape":[1],"values":[1]}"#, "no dtype is called"),
        (r#"{"dtype":"f32","shape":[3],"values":[1,2]}"#, "2 values do not fill shape [3]"),
        (r#"{"dtype":"u8","shape":[1],"values":[256]}"#, "does not fit"),
        (r#"{"dtype":"i32","shape":[1],"values":[1.5]}"#, "floats among the values"),
        (r#"{"dtype":"bool","shape":[1],"values":[1]}"#, "integers among the values"),
        (r#"{"dtype":"f32","shape":[1],"values":["x"]}"#, "did not match"),
        (r#"{"dtype":"f32","shape":[18446744073709551615,2],"values":[]}"#, "0 values do not fill"),
    ] {
        let error = serde_json::from_str::<Tensor>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    }
}
