//! A variational autoencoder on MNIST: learns to draw digits. A loss of one's own, a sample inside the model, and a
//! picture at the end.
//!
//! In the repository's root: `cargo run --release --example vae -- [steps]`

use flambeau::data::{DataLoader, Mnist};
use flambeau::nn::loss::{BceWithLogitsLoss, Reduction};
use flambeau::nn::{Linear, Relu, Sequential};
use flambeau::optim::Adam;
use flambeau::prelude::*;

const PIXELS: usize = 28 * 28;
const HIDDEN: usize = 128;
const CODE: usize = 16;

#[derive(Module)]
struct Vae {
    encoder: Sequential,
    decoder: Sequential,
}

impl Vae {
    fn new(device: &Device) -> Vae {
        let two_layers = |inputs, outputs| {
            let first = Linear::new(inputs, HIDDEN, device);
            Sequential::new().with(first).with(Relu).with(Linear::new(HIDDEN, outputs, device))
        };
        Vae { encoder: two_layers(PIXELS, 2 * CODE), decoder: two_layers(CODE, PIXELS) }
    }

    /// The mean over the batch of −ELBO: how badly images (B, PIXELS) are drawn again from a code, and how far codes are
    /// from N(0, 1).
    fn loss(&self, images: &Tensor, chance: &Generator) -> Tensor {
        let code = self.encoder.forward(images);
        let (mean, log_variance) = (code.i((.., ..CODE)), code.i((.., CODE..)));
        // A sample that gradients flow through.
        let sample = &mean + (&log_variance * 0.5).exp() * mean.randn_like(chance);
        let total = BceWithLogitsLoss { reduction: Reduction::Sum, ..Default::default() };
        let drawing = total.forward(&self.decoder.forward(&sample), images);
        let divergence = (mean.square() + log_variance.exp() - &log_variance - 1.0).sum(..) * 0.5;
        (drawing + divergence) / images.size(0) as f64
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    flambeau::block_on(run())
}

async fn run() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let steps = std::env::args().nth(1).map_or(200, |steps| steps.parse().expect("a number of steps"));
    let device = Device::best().await;
    println!("On {}", device.name());
    let images = Mnist::open("data/mnist")?.train.to_device(&device)?;
    let mut batches = DataLoader::new(images, &device).with_batch_size(64).with_shuffle(1).dropping_last();

    flambeau::manual_seed(1);
    let vae = Vae::new(&device);
    let mut optimizer = Adam::new(vae.parameters(), 1e-3);
    let chance = Generator::new(2);
    let (mut first, mut last) = (None, 0.0);
    let mut step = 0;
    while step < steps {
        let Some((x, _digit)) = batches.next().await? else { continue };
        let loss = vae.loss(&x.flatten(1, -1), &chance);
        loss.backward()?;
        optimizer.step()?;
        optimizer.zero_grad();
        if step % 50 == 0 || step + 1 == steps {
            last = loss.item().await?;
            first.get_or_insert(last);
            println!("step {step:>4}: loss {last:.2}");
        }
        step += 1;
    }
    assert!(Some(last) < first, "the loss went from {first:?} to {last}");
    assert!(steps < 200 || last < 200.0, "the loss is still {last}");

    // 8 × 8 new digits from random codes, side by side in one picture.
    let codes = Tensor::randn([64, CODE], &chance, &device);
    let digits = no_grad(|| vae.decoder.forward(&codes).sigmoid());
    let picture = digits.reshape([8, 8, 28, 28]).permute(&[0, 2, 1, 3]);
    let grey: Vec<u8> = (picture * 255.0).to_dtype(DType::U8).to_vec().await?;
    let path = std::env::temp_dir().join("flambeau-vae.png");
    image::GrayImage::from_raw(8 * 28, 8 * 28, grey).expect("a byte a pixel").save(&path)?;
    println!("New digits are in {}", path.display());
    Ok(())
}
