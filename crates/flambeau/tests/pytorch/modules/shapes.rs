//! `modules.cpp`, layers that change shapes or look things up.

use super::*;

/// `same` wants a stride of 1.
fn refuses_same_with_stride<const N: usize>(
    make: impl Fn(flambeau::ConvOptions<N>) -> Result<Conv<N>>,
    x: &Tensor,
) {
    let options = flambeau::ConvOptions::default().with_padding(Padding::Same);
    assert_eq!(make(options).unwrap().forward(x).shape()[2..], x.shape()[2..]);
    let result = make(options.with_stride(2)).and_then(|conv| conv.try_forward(x));
    assert!(message(result).contains("stride"));
}

#[test]
fn conv1d_same_strided() {
    each(|device| {
        refuses_same_with_stride(
            |options| Conv1d::try_with_options(3, 2, 3, options, device),
            &ramp([1, 3, 7], device),
        );
    });
}

#[test]
fn conv2d_same_strided() {
    each(|device| {
        let make = |options: Conv2dOptions| Conv2d::try_with_options(3, 2, [3, 4], options, device);
        refuses_same_with_stride(make, &ramp([1, 3, 5, 6], device));
    });
}

#[test]
fn conv3d_same_strided() {
    each(|device| {
        let make = |options: Conv3dOptions| Conv3d::try_with_options(2, 2, [3, 4, 2], options, device);
        refuses_same_with_stride(make, &ramp([1, 2, 4, 5, 3], device));
    });
}

#[test]
fn conv1d_ivalid_arg() {
    each(|device| {
        for groups in [0, 2] {
            let options = Conv1dOptions::default().with_groups(groups);
            assert!(
                message(Conv1d::try_with_options(3, 2, 3, options, device)).contains("groups"),
                "{groups}"
            );
        }
    });
}

/// Values at their places, among zeros.
#[test]
fn max_unpool1d() {
    each(|device| {
        let places = Tensor::new([[[1, 3, 4]]], device);
        let x = Tensor::new([[[2.0, 4.0, 5.0]]], device).requires_grad();
        let y = MaxUnpool1d::new(3).forward(&x, &places);
        is(&y.detach(), [1, 1, 9], &[0.0, 2.0, 0.0, 4.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
        y.sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [1, 1, 3], &[1.0; 3]);
        let overlapping =
            MaxUnpool1d::with_options(3, &MaxPool1dOptions::default().with_stride(2).with_padding(1));
        is(&overlapping.forward(&x.detach(), &places), [1, 1, 5], &[0.0, 2.0, 0.0, 4.0, 5.0]);
    });
}

#[test]
fn max_unpool2d() {
    each(|device| {
        let places = Tensor::new([[[[6, 8], [16, 18]]]], device);
        let x = Tensor::new([[[[6.0, 8.0], [16.0, 18.0]]]], device);
        let unpool = MaxUnpool2d::with_options(3, &MaxPool2dOptions::default().with_stride(2));
        let wanted: Vec<f64> =
            (0..25).map(|k| if [6, 8, 16, 18].contains(&k) { k as f64 } else { 0.0 }).collect();
        is(&unpool.forward(&x, &places), [1, 1, 5, 5], &wanted);
    });
}

#[test]
fn max_unpool3d() {
    each(|device| {
        let x = Tensor::new([[[[[26.0]]]]], device);
        let y = MaxUnpool3d::new(3).forward(&x, &Tensor::new([[[[[26]]]]], device));
        assert_eq!(y.shape().dims(), [1, 1, 3, 3, 3]);
        assert_eq!((number(&y.sum(..)), number(&y.i((0, 0, 2, 2, 2)))), (26.0, 26.0));
    });
}

/// An output of another size, which is less than a stride away.
#[test]
fn max_unpool3d_output_size() {
    each(|device| {
        let (x, places) = (Tensor::new([[[[[1.0]]]]], device), Tensor::new([[[[[21]]]]], device));
        let unpool = MaxUnpool3d::with_options(3, &flambeau::MaxPool3dOptions::default().with_stride(2));
        let y = unpool.forward_to(&x, &places, [4, 4, 4]);
        assert_eq!(y.shape().dims(), [1, 1, 4, 4, 4]);
        assert_eq!(number(&y.i((0, 0, 1, 1, 1))), 1.0);
        assert!(message(unpool.try_forward_to(&x, &places, [6, 4, 4])).contains("stride"));
    });
}

#[test]
fn identity() {
    each(|device| {
        let x = ramp([2, 3], device).requires_grad();
        let y = Identity.forward(&x);
        y.sum(..).backward().unwrap();
        same(&y.detach(), &x.detach());
        is(&x.grad().unwrap(), [2, 3], &[1.0; 6]);
    });
}

#[test]
fn flatten() {
    each(|device| {
        let x = ramp([3, 4, 2, 2], device).requires_grad();
        let y = Flatten::default().forward(&x);
        y.sum(..).backward().unwrap();
        assert_eq!(y.shape().dims(), [3, 16]);
        assert_eq!(x.grad().unwrap().shape(), x.shape());
        assert_eq!(Flatten { start_dim: 2, end_dim: 3 }.forward(&x).shape().dims(), [3, 4, 4]);
    });
}

#[test]
fn unflatten() {
    each(|device| {
        let y = Unflatten::new(1, vec![2, 2]).forward(&ramp([3, 4], device));
        is(&y, [3, 2, 2], &(0..12).map(f64::from).collect::<Vec<_>>());
        assert_eq!(Unflatten::new(-1, vec![-1, 2]).forward(&ramp([3, 4], device)).shape().dims(), [3, 2, 2]);
    });
}

/// Two layers in a module of one's own.
#[test]
fn simple_container() {
    #[derive(Module)]
    struct Net {
        l1: Linear,
        l2: Linear,
    }
    each(|device| {
        let net = Net { l1: Linear::new(10, 3, device), l2: Linear::new(3, 5, device) };
        let x = normal([8, 10], device).requires_grad();
        let y = net.l2.forward(&net.l1.forward(&x).relu());
        y.sum(..).backward().unwrap();
        assert_eq!(y.shape().dims(), [8, 5]);
        assert_eq!(net.parameters().len(), 4);
        assert!(net.parameters().iter().all(|parameter| parameter.grad().is_some()));
    });
}

#[test]
fn embedding_basic() {
    let r = crate::recorded::reference();
    r.case("embedding", &[], |_, i| {
        let table = Embedding::new(6, 3, i.device);
        table.weight.set(&i.get("table"));
        let y = table.forward(&i.get("indices"));
        y.sum(..).backward().unwrap();
        // Rows 1 twice, 3 never.
        is(&table.weight.grad().unwrap().select(1, 0), [6], &[1.0, 2.0, 1.0, 0.0, 1.0, 1.0]);
        y.detach()
    });
    // Rows that are too long are made shorter where they lie; gradients may be shared by how often a row is named.
    r.case("embedding_max_norm", &[], |_, i| {
        let rows = RowOptions { max_norm: Some(1.0), ..Default::default() };
        let table = Embedding::with_options(6, 3, EmbeddingOptions { rows, ..Default::default() }, i.device);
        table.weight.set(&i.get("table"));
        let y = table.forward(&i.get("indices")).detach();
        let norms = values(&table.weight.value().norm(2.0, 1));
        assert!(norms.iter().enumerate().all(|(row, &norm)| row == 3 || norm < 1.0 + 1e-5), "{norms:?}");
        same(&table.weight.value().select(0, 3), &i.get("table").select(0, 3));
        y
    });
    each(|device| {
        let rows = RowOptions { scale_grad_by_freq: true, ..Default::default() };
        let table = Embedding::with_options(3, 1, EmbeddingOptions { rows, ..Default::default() }, device);
        table.forward(&Tensor::new([0, 0, 2], device)).sum(..).backward().unwrap();
        is(&table.weight.grad().unwrap(), [3, 1], &[1.0, 0.0, 1.0]);
    });
}

#[test]
fn embedding_list() {
    each(|device| {
        let table = Embedding::new(6, 4, device);
        let y = table.forward(&Tensor::full([2, 3], 5, device));
        y.sum(..).backward().unwrap();
        assert_eq!(y.shape().dims(), [2, 3, 4]);
        is(&table.weight.grad().unwrap().sum(1), [6], &[0.0, 0.0, 0.0, 0.0, 0.0, 24.0]);
    });
}

#[test]
fn embedding_from_pretrained() {
    each(|device| {
        let weight = Tensor::new([[1.0, 2.3, 3.0], [4.0, 5.1, 6.3]], device);
        let table = Embedding::from_pretrained(&weight).unwrap();
        assert!(!table.weight.requires_grad());
        is(&table.forward(&Tensor::new([1], device)), [1, 3], &[4.0, 5.1, 6.3]);
        assert!(Embedding::from_pretrained(&weight.select(0, 0)).is_err());
    });
}

#[test]
fn embedding_bag_from_pretrained() {
    each(|device| {
        let weight = Tensor::new([[1.0, 2.3, 3.0], [4.0, 5.1, 6.3]], device);
        let bags = EmbeddingBag::from_pretrained(&weight, EmbeddingBagLayerOptions::default()).unwrap();
        assert!(!bags.weight.requires_grad());
        is(&bags.forward(&Tensor::new([[1, 0]], device)), [1, 3], &[2.5, 3.7, 4.65]);
    });
}
