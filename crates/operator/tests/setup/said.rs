//! What the doctor says, and what it must not say.

use serde_json::json;
use sim::proxmox::Release;

use crate::broken::{KINDS, cloning_wholly, full};
use crate::clinic::Clinic;

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_listed_is_not_said_to_be_missing() {
    let (credentials, claimless) = (["github-credentials", "proxmox-credentials"], ["machineclaims"]);
    let but = |without: &[&str]| KINDS.iter().copied().filter(|kind| !without.contains(kind)).collect::<Vec<_>>();
    for (kinds, secrets) in [
        (vec!["runnerpools"], &[][..]),
        (but(&["hypervisorclusters"]), &credentials),
        (but(&["hypervisormachinetemplates"]), &credentials),
        (but(&["runnersources"]), &credentials),
        (but(&claimless), &credentials),
    ] {
        let clinic = Clinic::new(Release::V9).await;
        clinic.pve.crowd([6050], "pve1");
        clinic.asked_by_eve(&kinds, secrets).await;
        let chart = clinic.doctor().await;
        let told = format!("{:#?} {:#?}", chart.findings(), chart.passed());
        assert_eq!(chart.code(), 2, "{kinds:?}: {told}");
        assert_eq!(told.matches("you may not list").count(), 1, "{kinds:?}: {told}");
        let wrong = ["does not exist", "there is no HypervisorCluster", "you may look at everything"];
        assert!(!wrong.iter().any(|words| told.contains(words)), "{kinds:?}: {told}");
        let strangers = told.contains("belong to VMs that no MachineClaim here has");
        let sees_them = kinds.contains(&"hypervisorclusters") && kinds.contains(&"machineclaims");
        assert_eq!(strangers, sees_them, "{kinds:?}: {told}");
        let both = ["runnersources", "hypervisormachinetemplates"].iter().all(|kind| kinds.contains(kind));
        assert_eq!(told.contains("its source and its template are there"), both, "{kinds:?}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_uses_a_password_hears_nothing_of_tokens() {
    let clinic = Clinic::new(Release::V9).await;
    let ca = clinic.authority.pem().to_owned();
    clinic.secret("proxmox-login", &[("user", "op@pve"), ("password", "not it"), ("ca.crt", &ca)]).await;
    let key = |key: &str| json!({ "name": "proxmox-login", "key": key });
    let credentials =
        json!({ "tokenId": null, "tokenSecret": null, "username": key("user"), "password": key("password") });
    let spec = json!({ "credentials": credentials, "tls": { "caCertificate": key("ca.crt") } });
    clinic.change("hypervisorclusters", "pve", json!({ "spec": spec })).await;
    let chart = clinic.doctor().await;
    let refused =
        chart.findings().into_iter().find(|finding| finding.what.contains("refused the credentials")).unwrap();
    assert!(refused.remedy.contains("pveum passwd op@pve"), "{refused:?}");
    assert!(refused.remedy.contains("--from-file=password=FILE"), "{refused:?}");
    assert!(!format!("{refused:?}").contains("token"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_storage_matters_to_those_who_use_it() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.pve.put_setting(9000, "scsi0", "tank:base-9000-disk-0,size=8G");
    clinic.pve.put_setting(9000, "ide2", "tank:vm-9000-cloudinit,media=cdrom,size=4M");
    full(&clinic, "disks").await;
    let chart = clinic.doctor().await;
    assert_eq!(chart.code(), 0, "linked clones are made on tank: {:#?}", chart.findings());
    cloning_wholly(&clinic).await;
    let chart = clinic.doctor().await;
    assert_eq!(chart.code(), 1, "whole copies go to the default storage: {:#?}", chart.findings());
    assert!(chart.findings()[0].what.contains("storage disks is full"), "{:#?}", chart.findings());
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_free_as_far_as_the_token_sees() {
    let clinic = Clinic::new(Release::V9).await;
    let told = |chart: &operator::doctor::Chart| {
        let passed = chart.passed().iter().find(|passed| passed.what.contains("VMIDs from")).unwrap();
        passed.what.clone()
    };
    assert_eq!(told(&clinic.doctor().await), "100 VMIDs from 6000 to 6099 are free");
    crate::broken::sparing(&clinic).await;
    assert_eq!(told(&clinic.doctor().await), "100 VMIDs from 6000 to 6099 are free, as far as min@pve!tk sees");
}
