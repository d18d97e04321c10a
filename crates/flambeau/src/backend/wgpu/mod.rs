pub(crate) mod runtime;
