//! A backup is taken while others write, and put back.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use testenv::Signal;

use crate::home::{Home, SOON, run};
use crate::note;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_the_running_program_can_be_put_back() {
    let home = Home::new();
    let up = home.up(&["--controllers=ingress"]);
    let maps: Api<ConfigMap> = Api::namespaced(home.client().await, "default");
    for number in 0..50 {
        maps.create(&PostParams::default(), &note(&format!("before-{number:02}"), number)).await.unwrap();
    }
    let file = home.path().with_file_name("backup.redb");
    let writing = async {
        for number in 0..50 {
            maps.create(&PostParams::default(), &note(&format!("during-{number:02}"), number)).await.unwrap();
        }
    };
    let saved = run(&["up", "backup", "--data-dir", home.path().to_str().unwrap(), file.to_str().unwrap()]);
    let (status, ()) = tokio::join!(saved.wait(SOON), writing);
    assert!(status.success(), "{}", saved.output());
    assert!(saved.output().contains("objects as they were at revision"), "{}", saved.output());
    let again = run(&["up", "backup", "--data-dir", home.path().to_str().unwrap(), file.to_str().unwrap()]);
    assert!(!again.wait(SOON).await.success());
    assert!(again.output().contains("exists already: name a file that does not"), "{}", again.output());
    // What happens after it is not in it.
    maps.delete("before-00", &DeleteParams::default()).await.unwrap();
    up.signal(Signal::Terminate);
    assert!(up.wait(SOON).await.success(), "{}", up.output());
    std::fs::copy(&file, home.state()).unwrap();
    let _up = home.up(&["--controllers=ingress"]);
    home.client().await;
    let found = maps.list(&ListParams::default()).await.unwrap().items;
    let names: Vec<&str> = found.iter().filter_map(|map| map.metadata.name.as_deref()).collect();
    let during = names.iter().filter(|name| name.starts_with("during-")).count();
    assert_eq!(names.iter().filter(|name| name.starts_with("before-")).count(), 50, "{names:?}");
    // One moment: those that were written first, without a gap.
    assert!((0..during).all(|number| names.contains(&format!("during-{number:02}").as_str())), "{names:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_can_be_made_while_nothing_runs() {
    let home = Home::new();
    let up = home.up(&["--controllers=ingress"]);
    home.client().await;
    up.kill();
    let file = home.path().with_file_name("backup.redb");
    let saved = run(&["up", "backup", "--data-dir", home.path().to_str().unwrap(), file.to_str().unwrap()]);
    assert!(saved.wait(SOON).await.success(), "{}", saved.output());
    let nowhere = run(&["up", "backup", "--data-dir", "/nonexistent", "/tmp/never.redb"]);
    assert!(!nowhere.wait(SOON).await.success());
    assert!(nowhere.output().contains("there is no data directory /nonexistent"), "{}", nowhere.output());
}

/// While the server started, or ended, whoever asked was told to end it first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_waits_for_who_has_the_file_and_does_not_answer_yet() {
    let home = Home::new();
    let up = home.up(&["--controllers=ingress"]);
    home.client().await;
    up.kill();
    let held = std::fs::File::open(home.state()).unwrap();
    held.lock().unwrap();
    let file = home.path().with_file_name("backup.redb");
    let saved = run(&["up", "backup", "--data-dir", home.path().to_str().unwrap(), file.to_str().unwrap()]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(held);
    assert!(saved.wait(SOON).await.success(), "{}", saved.output());
    assert!(file.exists());
}
