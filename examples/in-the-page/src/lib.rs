//! A network that learns spirals; in a browser, what its page calls.

pub mod train;

#[cfg(target_arch = "wasm32")]
mod page {
    use crate::train::train;
    use flambeau::Device;
    use js_sys::{Function, Promise};
    use wasm_bindgen::prelude::*;
    use wasm_bindgen_futures::JsFuture;

    /// Trains on the best device, or on the one with this name (`cpu`, `gpu`, `software`). `started` is told where; `report` of every epoch
    /// (a line, the loss, the accuracy), and its promise is waited for, so that the page can be drawn.
    #[wasm_bindgen]
    pub async fn run(
        name: Option<String>,
        started: Function,
        report: Function,
    ) -> Result<(), JsError> {
        let device = match name {
            Some(name) => Device::named(&name).await?,
            None => Device::try_best().await?,
        };
        let place = format!("{} ({device})", device.name());
        let told = started.call1(&JsValue::NULL, &place.into());
        told.map_err(|_| JsError::new("the page could not show the device"))?;
        train(&device, async |progress| {
            let (line, loss, accuracy) = (progress.to_string(), progress.loss, progress.accuracy);
            let shown = report.call3(&JsValue::NULL, &line.into(), &loss.into(), &accuracy.into());
            if let Ok(shown) = shown {
                // What cannot be drawn does not end the training.
                let _ = JsFuture::from(Promise::resolve(&shown)).await;
            }
        })
        .await?;
        Ok(())
    }

    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_namespace = console, js_name = error)]
        fn console_error(message: &str);
    }

    /// A panic says where it was before WebAssembly ends.
    #[wasm_bindgen(start)]
    fn start() {
        std::panic::set_hook(Box::new(|panic| console_error(&panic.to_string())));
    }
}
