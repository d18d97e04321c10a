//! What the GPU is, and an op of every class on it, each with what it must give.
//!
//! `cargo run --release --example gpu_demo`

use flambeau::fft::FftNorm;
use flambeau::nn::Linear;
use flambeau::optim::Adam;
use flambeau::prelude::*;
use flambeau::{CustomKernel, enumerate_adapters};

fn main() -> Result<()> {
    flambeau::block_on(async {
        let device = Device::try_best().await?;
        if device.is_cpu() {
            explain_absence().await;
            return Ok(());
        }
        describe(&device);
        let mut demo = Demo { device, shown: 0 };
        demo.elementwise().await?;
        demo.shapes().await?;
        demo.reductions().await?;
        demo.products().await?;
        demo.networks().await?;
        demo.order().await?;
        demo.arrays().await?;
        demo.chance().await?;
        demo.own_kernel().await?;
        demo.training().await?;
        demo.device.synchronize().await?;
        println!("{} results, all as they must be", demo.shown);
        Ok(())
    })
}

/// What a GPU needs, and what was seen instead.
async fn explain_absence() {
    println!("There is no GPU to show. What one needs:");
    println!(
        "  Linux    a Vulkan 1.1 driver: NVIDIA's own, or Mesa's (Debian: apt install mesa-vulkan-drivers libvulkan1)"
    );
    println!("  Windows  DirectX 12: Windows 10 or later");
    println!("  macOS    Metal: macOS 11 or later on Apple silicon");
    println!("  browser  WebGPU: Chrome or Edge 113, Firefox 141 on Windows, Safari 26, or later");
    println!("docs/platforms says more of each.");
    let adapters = enumerate_adapters().await;
    for adapter in &adapters {
        println!("seen: {adapter}");
    }
    if adapters.iter().any(|adapter| adapter.software) {
        println!("FLAMBEAU_DEVICE=software shows the same on the software adapter.");
    }
}

fn describe(device: &Device) {
    println!("device    {}", device.name());
    if let Some(adapter) = device.adapter() {
        println!("backend   {}", adapter.backend);
        println!("vendor    {:#06x}", adapter.vendor);
        println!("driver    {} {}", adapter.driver, adapter.driver_info);
        println!("kind      {}", adapter.device_type);
    }
    if let Some(limits) = device.limits() {
        println!(
            "buffers   up to {} MiB, bindings up to {} MiB",
            limits.max_buffer_size >> 20,
            limits.max_storage_buffer_binding_size >> 20
        );
    }
    println!("features  {}", device.features().join(", "));
}

struct Demo {
    device: Device,
    shown: usize,
}

impl Demo {
    /// Prints a result, and ends the program unless it is the one expected.
    async fn show(&mut self, what: &str, found: &Tensor, expected: &[f64]) -> Result<()> {
        let found = found.to_f64_vec().await?;
        println!("{what:<44} {found:.4?}");
        let agree = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * (1.0 + b.abs());
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(agree),
            "{expected:?} was expected"
        );
        self.shown += 1;
        Ok(())
    }

    fn matrix(&self) -> Tensor {
        Tensor::new([[1.0, 2.0], [3.0, 4.0]], &self.device)
    }

    async fn elementwise(&mut self) -> Result<()> {
        let x = Tensor::new([-1.0, 0.5, 2.0], &self.device);
        self.show("2x + 1", &(&x * 2.0 + 1.0), &[-1.0, 2.0, 5.0]).await?;
        self.show("relu(x)", &x.relu(), &[0.0, 0.5, 2.0]).await?;
        self.show("sigmoid(x)", &x.sigmoid(), &[0.268941, 0.622459, 0.880797]).await?;
        self.show("exp(x)", &x.exp(), &[0.367879, 1.648721, 7.389056]).await?;
        self.show("x > 0", &x.gt(0.0).to_dtype(DType::F32), &[0.0, 1.0, 1.0]).await
    }

    async fn shapes(&mut self) -> Result<()> {
        let x = self.matrix();
        self.show("transpose", &x.t().reshape([4]), &[1.0, 3.0, 2.0, 4.0]).await?;
        self.show(
            "broadcast: rows + a vector",
            &(&x + Tensor::new([10.0, 20.0], &self.device)),
            &[11.0, 22.0, 13.0, 24.0],
        )
        .await?;
        let picked = x.index_select(0, &Tensor::new([1, 1], &self.device));
        self.show("rows by index", &picked, &[3.0, 4.0, 3.0, 4.0]).await
    }

    async fn reductions(&mut self) -> Result<()> {
        let x = self.matrix();
        self.show("sum", &x.sum(..), &[10.0]).await?;
        self.show("mean of columns", &x.mean(0), &[2.0, 3.0]).await?;
        self.show("argmax of rows", &x.argmax(1).to_dtype(DType::F32), &[1.0, 1.0]).await?;
        self.show("softmax of rows", &x.softmax(1), &[0.268941, 0.731059, 0.268941, 0.731059]).await?;
        self.show("running sums", &x.reshape([4]).cumsum(0), &[1.0, 3.0, 6.0, 10.0]).await
    }

    async fn products(&mut self) -> Result<()> {
        let x = self.matrix();
        self.show("matrix product", &x.matmul(&x), &[7.0, 10.0, 15.0, 22.0]).await?;
        let (picture, kernel) =
            (Tensor::ones([1, 1, 3, 3], &self.device), Tensor::ones([1, 1, 2, 2], &self.device));
        let convolved = picture.conv2d(&kernel, None, &Conv2dOptions::default());
        self.show("convolution", &convolved, &[4.0; 4]).await?;
        let pooled = self.matrix().reshape([1, 1, 2, 2]).max_pool2d(2, &MaxPool2dOptions::default());
        self.show("max pooling", &pooled, &[4.0]).await
    }

    async fn networks(&mut self) -> Result<()> {
        let x = self.matrix();
        let labels = Tensor::new([0, 1], &self.device);
        self.show("cross entropy", &x.cross_entropy(&labels), &[0.813262]).await?;
        let weight = self.matrix().requires_grad();
        x.matmul(&weight).square().sum(..).backward()?;
        let gradient = weight.grad().expect("a gradient");
        self.show("gradient of Σ (xw)²", &gradient, &[104.0, 152.0, 148.0, 216.0]).await
    }

    async fn order(&mut self) -> Result<()> {
        let (sorted, places) = Tensor::new([3.0, 1.0, 2.0], &self.device).sort(0, false);
        self.show("sorted", &sorted, &[1.0, 2.0, 3.0]).await?;
        self.show("where they were", &places.to_dtype(DType::F32), &[1.0, 2.0, 0.0]).await
    }

    async fn arrays(&mut self) -> Result<()> {
        let x = self.matrix();
        let b = Tensor::new([[5.0], [6.0]], &self.device);
        self.show("the solution of x y = b", &x.solve(&b), &[-4.0, 4.5]).await?;
        let impulse = Tensor::new([1.0, 0.0, 0.0, 0.0], &self.device);
        let spectrum = impulse.rfft(None, -1, FftNorm::Backward);
        self.show("the spectrum of an impulse", &spectrum, &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]).await
    }

    async fn chance(&mut self) -> Result<()> {
        let (here, there) = (Generator::new(7), Generator::new(7));
        let gpu = Tensor::rand([4], &here, &self.device);
        let cpu = Tensor::rand([4], &there, &Device::cpu()).to_f64_vec().await?;
        self.show("random numbers: the CPU's with this seed", &gpu, &cpu).await
    }

    async fn own_kernel(&mut self) -> Result<()> {
        let source = "
            @group(0) @binding(0) var<storage, read> x: array<f32>;
            @group(0) @binding(1) var<storage, read_write> y: array<f32>;
            @compute @workgroup_size(64)
            fn main(@builtin(global_invocation_id) id: vec3<u32>) {
                if (id.x < arrayLength(&y)) { y[id.x] = x[id.x] * 2.5; }
            }";
        let scale = CustomKernel::new("scale", source).output([3], DType::F32).workgroups([1, 1, 1]);
        let scaled = scale.call(&[&Tensor::new([1.0, 2.0, 3.0], &self.device)])?.remove(0);
        self.show("a kernel of one's own: 2.5 x", &scaled, &[2.5, 5.0, 7.5]).await
    }

    async fn training(&mut self) -> Result<()> {
        let generator = Generator::new(1);
        let x = Tensor::rand([64, 1], &generator, &self.device);
        let y = &x * 2.0 + 3.0;
        flambeau::manual_seed(1);
        let line = Linear::new(1, 1, &self.device);
        let mut optimizer = Adam::new(line.parameters(), 0.1);
        for _ in 0..400 {
            line.forward(&x).mse_loss(&y).backward()?;
            optimizer.step()?;
            optimizer.zero_grad();
        }
        let error = (line.forward(&x) - &y).abs().max(..);
        self.show("a line fitted, its largest error < 0.05", &error.lt(0.05).to_dtype(DType::F32), &[1.0])
            .await
    }
}
