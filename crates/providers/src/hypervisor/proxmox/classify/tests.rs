//! Every recorded refusal and every sentence the specification names, and what each means.

use rstest::rstest;
use serde_json::json;

use super::super::recorded::rows;
use super::*;
use crate::hypervisor::VmId;
use reconcile::Class;

fn vm() -> Object {
    Object::Vm(VmId::try_from(101).unwrap())
}

fn change() -> Asked {
    Asked { object: vm(), is_read: false }
}

/// What recorded refusals mean, by the beginning of their text.
const MEANINGS: &[(&str, &str)] = &[
    ("No ticket", "Auth"),
    ("Authentication failed!", "Auth"),
    ("Method 'GET /nosuch' not implemented", "Unexpected"),
    ("method 'PATCH' not available", "Unexpected"),
    ("Parameter verification failed.", "Invalid"),
    ("unable to create VM 9000 - VM 9000 already exists", "AlreadyExists"),
    ("unable to create VM 150 - VM 150 already exists", "AlreadyExists"),
    ("unable to create VM 9000: config file already exists", "AlreadyExists"),
    ("unable to create VM 101: config file already exists", "AlreadyExists"),
    ("Linked clone feature is not supported", "Unsupported"),
    ("parameter 'storage' not allowed for linked clones", "Unexpected"),
    ("parameter 'format' not allowed for linked clones", "Unexpected"),
    ("Permission check failed (pool 'nope' does not exist)", "NotFound"),
    ("Permission check failed", "PermissionDenied"),
    ("storage 'nosuch' does not exist", "NotFound"),
    ("unable to find configuration file for VM 9999", "NotFound"),
    ("Configuration file 'nodes/vm/qemu-server/", "NotFound"),
    ("volume 'local:iso/none.iso' does not exist", "NotFound"),
    ("can't remove VM 9000 - protection mode enabled", "Protected"),
    ("can't remove VM 101 - protection mode enabled", "Protected"),
    ("no options specified", "Unexpected"),
    ("only root can set 'args' config", "PermissionDenied"),
    ("only root can set 'lock' config", "PermissionDenied"),
    ("only root can set 'affinity' config", "PermissionDenied"),
    ("balloon value too large", "Unexpected"),
    ("can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout", "LockTimeout"),
    ("VM is locked (clone)", "Locked"),
    ("VM 101 is not running", "Unexpected"),
    ("VM 402 is not running", "Unexpected"),
];

#[test]
fn every_recorded_refusal_means_what_it_should_with_and_without_a_message() {
    let refusals: Vec<_> = rows().into_iter().filter(|row| row.status >= 400).collect();
    assert!(refusals.len() > 50);
    for row in refusals {
        let (_, meaning) = MEANINGS
            .iter()
            .find(|(text, _)| row.reason.starts_with(text))
            .unwrap_or_else(|| panic!("nobody says what {:?} means", row.reason));
        let new = change().refused(&row.answer());
        assert_eq!(new.as_str(), *meaning, "{} {} -> {}", row.method, row.path, row.reason);
        let old = change().refused(&row.old_answer());
        assert_eq!(old, new, "the status line alone must do: {}", row.reason);
    }
}

#[test]
fn a_refusal_names_what_is_missing_taken_or_forbidden() {
    let meant = |text: &str| change().failed(text);
    assert_eq!(meant("storage 'nosuch' does not exist"), Error::NotFound { object: Object::Storage("nosuch".into()) });
    assert_eq!(
        meant("volume 'local:iso/none.iso' does not exist"),
        Error::NotFound { object: Object::Volume("local:iso/none.iso".into()) }
    );
    assert_eq!(
        change().denied("Permission check failed (/storage/local, Datastore.AllocateSpace|Datastore.Audit)"),
        Error::PermissionDenied {
            object: vm(),
            path: Some("/storage/local".into()),
            privilege: Some("Datastore.AllocateSpace|Datastore.Audit".into()),
        }
    );
    assert_eq!(
        change().denied("Permission check failed"),
        Error::PermissionDenied { object: vm(), path: None, privilege: None }
    );
    assert_eq!(
        change().denied("Permission check failed (pool 'nope' does not exist)"),
        Error::NotFound { object: Object::Pool("nope".into()) }
    );
}

#[rstest]
#[case("clone failed: can't lock file '/var/lock/pve-manager/pve-storage-store' - got timeout", Shared::Storage("store".into()))]
#[case("clone failed: cfs-lock 'storage-ceph' error: got lock request timeout", Shared::Storage("ceph".into()))]
#[case("'storage-ceph'-locked command timed out - aborting", Shared::Storage("ceph".into()))]
#[case("can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout", Shared::Vm(VmId::try_from(102).unwrap()))]
#[case(
    "clone failed: can't add VM 101 to pool 'hf': cfs-lock 'file-user_cfg' error: got lock request timeout",
    Shared::Other("file-user_cfg".into())
)]
fn a_lock_that_was_not_free_is_named(#[case] text: &str, #[case] lock: Shared) {
    assert_eq!(change().failed(text), Error::LockTimeout { object: vm(), lock });
}

#[rstest]
#[case("cluster not ready - no quorum?", "NoQuorum")]
#[case("cfs-lock 'file-user_cfg' error: no quorum!", "NoQuorum")]
#[case("unable to open file '/etc/pve/nodes/vm/qemu-server/101.conf.tmp.1' - Permission denied", "NoQuorum")]
#[case("checksum mismatch (file change by other user?)", "Stale")]
#[case("VM 101 is running - destroy failed", "Running")]
#[case("VM quit/powerdown failed - got timeout", "Running")]
#[case("can't clone VM to node 'pve2' (VM uses local storage)", "Unsupported")]
#[case("shrinking disks is not supported", "Unsupported")]
#[case("close (rename) atomic file '/etc/pve/nodes/n/qemu-server/101.conf' failed: File exists", "AlreadyExists")]
#[case("no such cluster node 'pve9'", "NotFound")]
#[case("bridge 'vmbr9' does not exist", "NotFound")]
#[case(
    "hostname lookup 'pve9' failed - failed to get address info for: pve9: Name or service not known",
    "NodeUnreachable"
)]
#[case(
    "lvcreate 'pve/vm-101-disk-0' error: Volume group \"pve\" has insufficient free space (1 extents): 2 required.",
    "Exhausted"
)]
#[case("error resizing volume '/dev/pve/vm-101-disk-0':   Insufficient free space: 512 extents needed", "Exhausted")]
#[case(
    "lvcreate 'pve/vm-101-disk-0' error:   Cannot create new thin volume, free space in thin pool pve/data reached threshold.",
    "Exhausted"
)]
#[case("start failed: QEMU exited with code 1", "Unexpected")]
#[case("can't lock file '/var/log/pve/tasks/.active.lock' - got timeout", "UnknownOutcome")]
fn a_sentence_means_one_thing(#[case] text: &str, #[case] meaning: &str) {
    assert_eq!(change().failed(text).as_str(), meaning);
}

#[rstest]
#[case("close (rename) atomic file '/etc/pve/nodes/n/qemu-server/102.conf' failed: File exists", "VM 102")]
#[case("unable to create VM 102: config file already exists", "VM 102")]
#[case(
    "clone failed: disk image '/mnt/images/102/vm-102-cloudinit.qcow2' already exists",
    "volume /mnt/images/102/vm-102-cloudinit.qcow2"
)]
#[case(
    "clone failed: zfs error: cannot create 'tank/vms/vm-102-cloudinit': dataset already exists",
    "volume tank/vms/vm-102-cloudinit"
)]
#[case(
    "clone failed: rbd create 'vm-102-cloudinit' error: rbd: create error: (17) File exists",
    "volume vm-102-cloudinit"
)]
fn what_is_in_the_way_of_a_clone_is_named(#[case] text: &str, #[case] what: &str) {
    let clone = Asked { object: Object::Image(VmId::try_from(9000).unwrap()), is_read: false };
    let Error::AlreadyExists { object, .. } = clone.failed(text) else { panic!("{text} means something else") };
    assert_eq!(object.to_string(), what);
}

#[rstest]
#[case(595, "NodeUnreachable", "NodeUnreachable")]
#[case(596, "UnknownOutcome", "NodeUnreachable")]
#[case(597, "UnknownOutcome", "NodeUnreachable")]
#[case(599, "UnknownOutcome", "NodeUnreachable")]
#[case(501, "Unexpected", "Unexpected")]
#[case(506, "Unexpected", "Unexpected")]
fn without_an_answer_from_the_node_a_change_is_unknown_and_a_read_has_failed(
    #[case] status: u16,
    #[case] change_means: &str,
    #[case] read_means: &str,
) {
    let answer = Answer {
        status: StatusCode::from_u16(status).unwrap(),
        reason: "Connection timed out".into(),
        headers: http::HeaderMap::new(),
        body: hyper::body::Bytes::new(),
    };
    assert_eq!(change().refused(&answer).as_str(), change_means);
    assert_eq!(Asked { object: vm(), is_read: true }.refused(&answer).as_str(), read_means);
}

#[test]
fn a_lost_connection_is_unknown_and_one_that_never_was_is_not() {
    let lost = TransportError::Interrupted { detail: "reset".into() };
    assert_eq!(change().unreached(lost.clone()).class(), Class::Unavailable);
    assert_eq!(change().unreached(lost).as_str(), "UnknownOutcome");
    assert_eq!(
        change().unreached(TransportError::Unreachable { detail: "refused".into() }).as_str(),
        "NodeUnreachable"
    );
    assert_eq!(change().unreached(TransportError::Certificate { detail: "expired".into() }).class(), Class::Refused);
}

#[test]
fn unusual_bodies_do_not_hide_the_reason() {
    for body in [json!([1]).to_string(), "<html>".into(), json!({"errors": 7}).to_string()] {
        let answer = Answer {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            reason: "VM is locked (backup)".into(),
            headers: http::HeaderMap::new(),
            body: body.into(),
        };
        assert_eq!(change().refused(&answer), Error::Locked { object: vm(), kind: Lock::Backup });
    }
}
