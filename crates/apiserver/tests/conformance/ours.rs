//! The server in process: the one place that makes it.

use apiserver::{ApiServer, Options, User};
use chassis::Clock;
use kube::api::PostParams;
use kube::{Api, Client};

/// An administrator's client of a fresh server that has the definitions of this suite.
pub async fn ours() -> Client {
    // No watch comes too late here: how far back one may begin depends on how much else happened.
    let options = Options { history: 1_000_000, ..Options::in_memory(Clock::system(), [5; 32]) };
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
