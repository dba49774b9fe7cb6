//! Scale sets as the crate `scaleset` knows them, which follows the client that GitHub publishes.
//!
//! ```text
//!   scaleset-oracle client     its client and its listener, against a simulated GitHub
//!   scaleset-oracle emulator   its emulator of the service, for clients of others, until it is killed
//! ```
//!
//! Where the simulated GitHub is comes from the environment. A step that fails panics: the message and the line are for
//! whoever reads the output of the test.

mod emulator;
mod life;
mod listener;
mod place;

use place::Place;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("client") => {
            let place = Place::of_environment();
            life::everywhere(&place).await;
            life::whole(&place).await;
            listener::crowd(&place).await;
        }
        Some("emulator") => emulator::serve().await,
        other => panic!("{other:?} instead of client or emulator"),
    }
}
