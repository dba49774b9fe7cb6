//! A disk that takes no more, and a file that something has damaged.

use std::process::Command;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use testenv::{Program, Signal, eventually};

use crate::home::{Home, SOON};
use crate::note;

/// Blocks of 512 bytes that a file may have: 32 MiB, a multiple of what the definitions need.
const BLOCKS: u32 = 64 * 1_024;

/// The database's own.
const PAGE: usize = 4_096;

/// A note of some size.
fn large(number: usize) -> ConfigMap {
    let mut note = note(&format!("large-{number}"), number);
    note.data.as_mut().unwrap().insert("text".to_owned(), "x".repeat(100_000));
    note
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_said_and_nothing_that_was_acknowledged_is_lost() {
    let home = Home::new();
    let up = limited(&home);
    let client = home.client().await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let mut kept = Vec::new();
    let refused = loop {
        match maps.create(&PostParams::default(), &large(kept.len())).await {
            Ok(map) => kept.push(map.metadata.name.unwrap()),
            Err(kube::Error::Api(status)) => break status,
            Err(other) => panic!("{other}"),
        }
        assert!(kept.len() < 1_000, "the disk is never full");
    };
    assert_eq!(refused.code, 500, "{refused}");
    assert!(refused.message.contains("state.redb") && refused.message.contains("File too large"), "{refused}");
    let names = async || {
        let list = maps.list(&ListParams::default()).await.unwrap();
        list.items.into_iter().map(|map| map.metadata.name.unwrap()).collect::<Vec<_>>()
    };
    kept.sort();
    assert_eq!(names().await, kept, "what is there can still be read");
    let pid = Pid::from_raw(i32::try_from(up.pid()).unwrap());
    prlimit(pid, Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
    let next = maps.create(&PostParams::default(), &large(1_000)).await.unwrap();
    kept.push(next.metadata.name.unwrap());
    kept.sort();
    assert_eq!(names().await, kept, "there is room again");
    up.kill();
    let _again = home.up(&["--controllers=ingress"]);
    home.client().await;
    assert_eq!(names().await, kept, "and all of it is on disk");
}

/// The program with a limit on the size of its files, which answers as a full disk does.
fn limited(home: &Home) -> Program {
    let plain = home.command(&["--controllers=ingress"]);
    let mut command = Command::new("sh");
    // Whoever ignores the signal gets an error from the write instead. The limit is soft, so that it can be lifted.
    command.args(["-c", &format!("trap '' XFSZ; ulimit -S -f {BLOCKS}; exec \"$0\" \"$@\"")]);
    command.arg(plain.get_program()).args(plain.get_args()).env_remove("KUBECONFIG");
    Program::start(&command)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_is_not_opened_and_stays_as_it_is() {
    let home = Home::new();
    let up = home.up(&["--controllers=ingress"]);
    let maps: Api<ConfigMap> = Api::namespaced(home.client().await, "default");
    for number in 0..20 {
        maps.create(&PostParams::default(), &large(number)).await.unwrap();
    }
    up.signal(Signal::Terminate);
    assert!(up.wait(SOON).await.success(), "{}", up.output());
    let whole = std::fs::read(home.state()).unwrap();
    let mut broken = whole.clone();
    for page in broken.chunks_mut(PAGE).filter(|page| page.iter().all(|byte| *byte == b'x')) {
        page[0] = b'y';
    }
    assert!(broken != whole, "there is no page to damage");
    std::fs::write(home.state(), &broken).unwrap();
    for _ in 0..2 {
        let refused = home.up(&["--controllers=ingress"]);
        assert!(!refused.wait(SOON).await.success());
        let told = refused.output();
        assert!(told.contains("it is damaged") && told.contains("put a backup in its place"), "{told}");
        assert!(std::fs::read(home.state()).unwrap() == broken, "the damaged file was changed");
    }
    std::fs::write(home.state(), whole).unwrap();
    let _up = home.up(&["--controllers=ingress"]);
    let found = eventually("all of it is there again", SOON, async || {
        home.client().await;
        maps.list(&ListParams::default()).await.ok()
    })
    .await;
    assert_eq!(found.items.len(), 20);
}
