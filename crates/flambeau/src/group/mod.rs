//! Groups: members of one training run, in one process or in many, and what they tell each other.
//!
//! A [`Group`] hands messages from member to member; what members do together (sums, broadcasts) is made of that once, for
//! every kind of group. [`Threads`] are members in one process, for several adapters of one machine and for tests;
//! `Mpi` (feature `mpi`) are processes that `mpirun` has started, on one machine or many; [`Peers`] are strangers who come and go, over any
//! kind of link.
//!
//! Sums are made in the order of ranks and in f64, and rounded once: for a fixed number of members the bits do not depend on
//! who was faster. A member that is dead or late is an error that names its rank and what was waited for; nothing waits for ever.
//!
//! [`Trainer::with_group`](crate::train::Trainer::with_group) trains with one. A loop of one's own needs three lines:
//!
//! ```
//! # use flambeau::prelude::*;
//! use flambeau::data::{DataLoader, TensorDataset};
//! use flambeau::group::{Group, Threads};
//! use flambeau::{nn::Linear, optim::Sgd};
//! fn train(group: impl Group) -> Result<f64> {
//!     flambeau::block_on(async {
//!         let device = Device::cpu();
//!         let x = Tensor::rand([32, 1], &Generator::new(1), &device);
//!         let data = TensorDataset::new([x.clone(), &x * 2.0])?;
//!         let mut batches = DataLoader::new(data, &device).with_batch_size(8).with_share(group.rank(), group.size());
//!         let model = Linear::new(1, 1, &device);
//!         group.broadcast_parameters(&model.parameters()).await?; // all begin with those of rank 0
//!         let mut sgd = Sgd::new(model.parameters(), 0.5);
//!         for _epoch in 0..20 {
//!             while let Some((x, y)) = batches.next().await? {
//!                 let loss = model.forward(&x).mse_loss(&y) * batches.weight();
//!                 loss.backward()?;
//!                 group.reduce_gradients(&sgd).await?; // all step by the mean
//!                 sgd.step()?;
//!                 sgd.zero_grad();
//!             }
//!         }
//!         model.weight.value().item().await
//!     })
//! }
//! let members = Threads::group(2).into_iter().map(|member| std::thread::spawn(move || train(member)));
//! let weights: Vec<f64> = members.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect::<Result<_>>()?;
//! assert!(weights[0] == weights[1] && (weights[0] - 2.0).abs() < 0.1);
//! # Ok::<(), Error>(())
//! ```

mod collective;
mod gradients;
#[cfg(all(feature = "mpi", not(target_arch = "wasm32")))]
mod mpi;
pub mod peers;
#[cfg(not(target_arch = "wasm32"))]
mod threads;
mod traffic;

use collective::Reduction;
pub(crate) use gradients::FlatTensors;
#[cfg(all(feature = "mpi", not(target_arch = "wasm32")))]
pub use mpi::Mpi;
pub use peers::{Peers, PeersOptions};
#[cfg(not(target_arch = "wasm32"))]
pub use threads::{Room, Threads};
pub use traffic::{Traffic, Transmitted};

use crate::error::{Error, Result};
use crate::nn::Parameter;
use crate::optim::Optimizer;
use std::fmt::Debug;
use std::pin::Pin;
use std::rc::Rc;

/// What has to be waited for.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// What becomes of the members' numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
}

/// Who is there after members may have left and joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// This member's rank now.
    pub rank: usize,
    /// How many members there are now.
    pub size: usize,
    /// How many of them are new: they have the last ranks.
    pub joined: usize,
}

/// A member's view of its group. What is done together ([`all_reduce`](Group::all_reduce) and so on) all members do in the same
/// order; where one does something else, the others get an error that says so.
///
/// An implementation says who it is and carries messages; the rest follows from that.
pub trait Group: Debug {
    /// This member's number, from 0.
    fn rank(&self) -> usize;

    /// The number of members.
    fn size(&self) -> usize;

    /// Hands a message over; does not wait until it arrives. Messages from one member to another keep their order.
    fn send(&self, to: usize, message: Vec<u8>) -> Result<()>;

    /// The next message of a member, or [`Error::Group`] if it is gone or late.
    fn receive(&self, from: usize) -> Waiting<'_, Vec<u8>>;

    /// What has been sent and waited for.
    fn traffic(&self) -> &Traffic;

    /// Lets members leave and join, where a group knows how to; all that stay call it. Without, nothing changes.
    fn regroup(&self) -> Waiting<'_, Membership> {
        Box::pin(async { Ok(Membership { rank: self.rank(), size: self.size(), joined: 0 }) })
    }

    /// Are all members under one hand? Where they are not, what they send is judged before it is used, and they confirm to each other
    /// what they have received.
    fn is_trusted(&self) -> bool {
        true
    }

    /// Has nothing more to do with a member that has sent what it must not, where a group knows how to.
    fn refuse(&self, rank: usize, why: &str) {
        _ = (rank, why);
    }

    /// Of these two members one has told something else than the other: the group cannot go on with both.
    fn doubt(&self, one: usize, other: usize) {
        _ = (one, other);
    }

    /// The bytes that the member `root` gives; what the others give is not looked at.
    fn broadcast(&self, root: usize, bytes: Vec<u8>) -> Waiting<'_, Vec<u8>> {
        Box::pin(collective::broadcast(self, root, bytes))
    }

    /// Sum or mean of numbers over all members, element by element, in the order of ranks.
    ///
    /// ```
    /// use flambeau::group::{Group, Reduce, Threads};
    /// let members = Threads::group(3).into_iter().map(|member| {
    ///     std::thread::spawn(move || {
    ///         let own = vec![member.rank() as f32, 1.0];
    ///         flambeau::block_on(member.all_reduce(own, Reduce::Sum))
    ///     })
    /// });
    /// for member in members.collect::<Vec<_>>() {
    ///     assert_eq!(member.join().unwrap()?, [3.0, 3.0]);
    /// }
    /// # Ok::<(), flambeau::Error>(())
    /// ```
    fn all_reduce(&self, values: Vec<f32>, reduce: Reduce) -> Waiting<'_, Vec<f32>> {
        Box::pin(collective::all_reduce(self, values, reduce))
    }

    /// The bytes of all members, by rank.
    fn gather(&self, bytes: Vec<u8>) -> Waiting<'_, Vec<Vec<u8>>> {
        Box::pin(collective::gather(self, bytes))
    }

    /// Returns when all members have come here.
    fn barrier(&self) -> Waiting<'_, ()> {
        Box::pin(collective::barrier(self))
    }

    /// Replaces the gradients of an optimizer's parameters by their means over the members: after `backward` and before
    /// `step`. Every loss is a mean over a member's share; where shares differ in size, multiply it by
    /// [`DataLoader::weight`](crate::data::DataLoader::weight), and the result is the gradient of the mean over the whole batch.
    ///
    /// All members must have gradients for the same parameters. They travel as f32, those of f64 too, in parts: while one is on
    /// its way, the next is read back from the device.
    fn reduce_gradients<'a>(&'a self, optimizer: &'a dyn Optimizer) -> Waiting<'a, ()> {
        Box::pin(gradients::reduce(self, optimizer.parameters()))
    }

    /// Gives all members the parameters of rank 0.
    fn broadcast_parameters<'a>(&'a self, parameters: &'a [Parameter]) -> Waiting<'a, ()> {
        Box::pin(gradients::broadcast(self, parameters))
    }
}

/// A member that is held in several places.
impl<G: Group + ?Sized> Group for Rc<G> {
    fn rank(&self) -> usize {
        (**self).rank()
    }

    fn size(&self) -> usize {
        (**self).size()
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        (**self).send(to, message)
    }

    fn receive(&self, from: usize) -> Waiting<'_, Vec<u8>> {
        (**self).receive(from)
    }

    fn traffic(&self) -> &Traffic {
        (**self).traffic()
    }

    fn regroup(&self) -> Waiting<'_, Membership> {
        (**self).regroup()
    }

    fn is_trusted(&self) -> bool {
        (**self).is_trusted()
    }

    fn refuse(&self, rank: usize, why: &str) {
        (**self).refuse(rank, why);
    }

    fn doubt(&self, one: usize, other: usize) {
        (**self).doubt(one, other);
    }

    fn broadcast(&self, root: usize, bytes: Vec<u8>) -> Waiting<'_, Vec<u8>> {
        (**self).broadcast(root, bytes)
    }

    fn all_reduce(&self, values: Vec<f32>, reduce: Reduce) -> Waiting<'_, Vec<f32>> {
        (**self).all_reduce(values, reduce)
    }
}

impl Error {
    /// What went wrong with a member of the group.
    pub(crate) fn group(op: &'static str, rank: usize, message: impl Into<String>) -> Error {
        Error::Group { op, rank, message: message.into() }
    }
}
