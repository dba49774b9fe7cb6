//! The server in process: the one place that makes it. It keeps its objects on disk, as `hyperfleet up` does; the server in
//! memory is the one of all tests in virtual time.

use std::path::Path;

use apiserver::store::Disk;
use apiserver::{ApiServer, Options, User};
use chassis::Clock;
use kube::api::PostParams;
use kube::{Api, Client};

/// An administrator's client of a fresh server that has the definitions of this suite.
pub async fn ours() -> Client {
    // No watch comes too late here: how far back one may begin depends on how much else happened.
    let history = 1_000_000;
    let storage = Box::new(storage());
    let options = Options { history, storage, ..Options::in_memory(Clock::system(), [5; 32]) };
    let server = ApiServer::new(options).expect("an empty storage opens");
    // As the real control plane knows its administrator.
    let admin = User { uid: "admin".to_owned(), ..User::new("admin", &["system:masters"]) };
    let client = Client::new(server.door(admin), "default");
    let definitions = Api::all(client.clone());
    for crd in super::kinds::definitions() {
        definitions.create(&PostParams::default(), &crd).await.expect("a definition of this suite");
    }
    client
}

/// A file that ends with the test: nobody but this process has its name. In memory where the system has such a place, because
/// what it costs to wait for a disk is no part of what is compared.
fn storage() -> Disk {
    let shared = Path::new("/dev/shm");
    let place = if shared.exists() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    let place = place.expect("a temporary directory");
    Disk::open(&place.path().join("state.redb")).expect("a new file")
}
