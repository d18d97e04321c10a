//! Pipelines that nobody waits for, where they are compiled beside the thread that asks: in a browser.
//!
//! WebGPU answers the end of an error scope when it has done what was asked for inside: that a pipeline is there, or why it will
//! not be, is known by its scope. An error stays there; it does not stop the runtime.

use super::{Pipeline, Request};
use crate::backend::wgpu::runtime::Runtime;
use crate::error::{Error, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A pipeline that is being compiled.
pub(crate) struct Arriving {
    request: Request,
    pipeline: Arc<Pipeline>,
    errors: Pin<Box<dyn Future<Output = Option<wgpu::Error>> + Send>>,
}

impl Runtime {
    /// Asks for a pipeline, and leaves it at that.
    pub fn pipeline_later(&self, request: Request) -> Result<Arriving> {
        self.check()?;
        if let Some(pipeline) = self.pipelines.find(&request.key) {
            self.counters.pipeline_hits.add(1);
            return Ok(Arriving { request, pipeline, errors: Box::pin(std::future::ready(None)) });
        }
        let outer = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let inner = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let pipeline = self.compile(&request);
        let (inner, outer) = (inner.pop(), outer.pop());
        let pipeline = Arc::new(pipeline?);
        self.counters.pipelines_created.add(1);
        let errors = Box::pin(async move { inner.await.or(outer.await) });
        Ok(Arriving { request, pipeline, errors })
    }
}

impl Arriving {
    /// The pipeline, or why there is none, once that is known.
    pub fn arrived(&mut self, runtime: &Runtime) -> Option<Result<Arc<Pipeline>>> {
        let Poll::Ready(error) = self.errors.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            return None;
        };
        let Request { key, label } = &self.request;
        if let Some(error) = error {
            return Some(Err(Error::Shader {
                label: label.clone(),
                message: error.to_string(),
                source_text: key.source.text().to_string(),
            }));
        }
        if runtime.config.pipeline_cache {
            runtime.pipelines.insert(key.clone(), &self.pipeline);
        }
        Some(Ok(self.pipeline.clone()))
    }
}
