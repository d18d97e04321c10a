//! Hooks: functions that see, and may replace, a gradient while backward builds.

use super::function::WeakEdge;

/// Stands for a registered hook. Dropping it leaves the hook in place; [`remove`](HookHandle::remove) takes it away.
pub struct HookHandle {
    pub(crate) edge: WeakEdge,
    pub(crate) id: u64,
}

impl HookHandle {
    /// Takes the hook away. Once is enough; again does nothing.
    pub fn remove(&self) {
        if let Some(edge) = self.edge.upgrade() {
            edge.remove_hook(self.id);
        }
    }
}
