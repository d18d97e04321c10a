//! The program for this machine.

use flambeau::prelude::*;
use in_the_page::train::train;

fn main() -> Result<()> {
    flambeau::block_on(async {
        let device = Device::try_best().await?;
        println!("On {} ({device})", device.name());
        train(&device, async |progress| println!("{progress}")).await
    })
}
