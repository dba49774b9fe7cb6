//! A VM that is a program: it finds its seed and its firmware's values, and its end powers the VM off.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use sim::proxmox::{Fixture, Hook, Options, Release, Simulator};
use sim::{Clock, Tasks};
use tower::{Service as _, ServiceExt as _};

const TOKEN: &str = "PVEAPIToken=op@pve!hf=11111111-1111-4111-8111-111111111111";

/// Makes a call; gives what it gave.
async fn call(simulator: &Simulator, verb: &str, path: &str, kind: &str, body: String) -> Value {
    let request = Request::builder()
        .method(verb)
        .uri(format!("/api2/json{path}"))
        .header(header::AUTHORIZATION, TOKEN)
        .header(header::CONTENT_TYPE, kind)
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let response = simulator.service().ready().await.unwrap().call(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(status.is_success(), "{verb} {path}: {status} {}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).unwrap()
}

async fn form(simulator: &Simulator, verb: &str, path: &str, body: &str) {
    call(simulator, verb, path, "application/x-www-form-urlencoded", body.to_owned()).await;
    // Tasks take no time here, but they are tasks.
    tokio::time::sleep(Duration::from_millis(50)).await;
}

async fn power(simulator: &Simulator) -> Value {
    let status = "/nodes/pve1/qemu/101/status/current";
    let answer = call(simulator, "GET", status, "application/x-www-form-urlencoded", String::new()).await;
    answer["data"]["status"].clone()
}

#[tokio::test]
async fn a_program_is_given_the_vms_seed_and_firmware_values_and_its_end_powers_the_vm_off() {
    let (tasks, folder) = (Tasks::new(), tempfile::tempdir().unwrap());
    let told = folder.path().join("told");
    let script = format!(
        "echo \"$HYPERFLEET_SIM_VMID $HYPERFLEET_SIM_UUID $HYPERFLEET_SIM_SERIAL $(cat $HYPERFLEET_SIM_SEED/ide3.iso)\" > {0}.new; \
         mv {0}.new {0}; while [ ! -e {0}.end ]; do sleep 0.05; done",
        told.display()
    );
    let hook = Hook::Program {
        program: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), script],
        seeds: folder.path().join("seeds"),
    };
    let options = Options { hook, ..Options::new(Release::V9, Fixture::Demo, Clock::system()) };
    let simulator = Simulator::new(options, &tasks);

    form(&simulator, "POST", "/nodes/pve1/qemu/9000/clone", "newid=101").await;
    let upload = "--x\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n--x\r\n\
                  Content-Disposition: form-data; name=\"filename\"; filename=\"seed.iso\"\r\n\r\nthe seed\r\n--x--\r\n";
    let path = "/nodes/pve1/storage/local/upload";
    call(&simulator, "POST", path, "multipart/form-data; boundary=x", upload.to_owned()).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let uuid = "278caaf8-6ca2-4a15-9b2a-b9814b29fae7";
    let smbios = format!("smbios1=uuid%3D{uuid},serial%3DaGVsbG8%3D,base64%3D1&ide3=local:iso/seed.iso,media%3Dcdrom");
    form(&simulator, "PUT", "/nodes/pve1/qemu/101/config", &smbios).await;
    form(&simulator, "POST", "/nodes/pve1/qemu/101/status/start", "").await;

    let patience = tokio::time::timeout(Duration::from_secs(20), async {
        while !told.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    patience.await.expect("the program runs");
    assert_eq!(std::fs::read_to_string(&told).unwrap(), format!("101 {uuid} hello the seed\n"));
    assert_eq!(power(&simulator).await, "running");

    std::fs::write(told.with_extension("end"), "").unwrap();
    let patience = tokio::time::timeout(Duration::from_secs(20), async {
        while power(&simulator).await != "stopped" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    patience.await.expect("the VM powers off with its program");
    assert!(!folder.path().join("seeds/101").exists(), "no seed stays on the disk");
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}
