//! Whose VM it is, whatever people, copies and forgers do.

use proptest::prelude::*;

use super::*;

fn keyring(operator: &str, cluster: &str, key: &[u8]) -> Keyring {
    Keyring::new(operator.parse().unwrap(), cluster.parse().unwrap(), key.to_vec().into())
}

fn ours() -> Keyring {
    keyring("op-1", "pve", b"0123456789abcdef0123456789abcdef")
}

fn vm(id: u32) -> VmId {
    VmId::try_from(id).unwrap()
}

fn ids() -> impl Strategy<Value = VmId> {
    (100_u32..1_000_000).prop_map(vm)
}

fn allocations() -> impl Strategy<Value = AllocationId> {
    "[a-z0-9][a-z0-9._-]{0,62}".prop_map(|text| text.parse().unwrap())
}

proptest! {
    #[test]
    fn p20_r8_3_what_we_write_is_ours_whatever_people_write_around_it(
        id in ids(), allocation in allocations(), note in ".{0,600}", before in "(?s).{0,200}", after in "(?s).{0,200}",
    ) {
        let description = format!("{before}\r\n{}\r\n{after}", ours().describe(id, &allocation, &note));
        let proof = ours().verify(&description, id).unwrap();
        prop_assert_eq!(proof.vm(), id);
        prop_assert_eq!(proof.allocation(), &allocation);
        prop_assert!(ours().describe(id, &allocation, &note).len() < 8192);
    }

    #[test]
    fn p26_a_copy_of_our_vm_is_not_ours(id in ids(), copy in ids(), allocation in allocations()) {
        prop_assume!(id != copy);
        let description = ours().describe(id, &allocation, "runner");
        prop_assert_eq!(ours().verify(&description, copy), Err(Mark::CopyOf(id)));
    }

    #[test]
    fn p26_another_operator_cluster_or_key_is_not_ours(id in ids(), allocation in allocations(), key: Vec<u8>) {
        let other = keyring("op-2", "pve", b"0123456789abcdef0123456789abcdef").describe(id, &allocation, "");
        prop_assert_eq!(ours().verify(&other, id), Err(Mark::OtherOperator("op-2".parse().unwrap())));
        let elsewhere = keyring("op-1", "lab", b"0123456789abcdef0123456789abcdef").describe(id, &allocation, "");
        prop_assert_eq!(ours().verify(&elsewhere, id), Err(Mark::OtherCluster("lab".parse().unwrap())));
        prop_assume!(key != b"0123456789abcdef0123456789abcdef");
        let forged = keyring("op-1", "pve", &key).describe(id, &allocation, "");
        prop_assert_eq!(ours().verify(&forged, id), Err(Mark::Forged));
    }

    #[test]
    fn p26_a_record_that_was_tampered_with_is_not_ours(
        id in ids(), allocation in allocations(), at in 0_usize..500, letter in "[a-z0-9]",
    ) {
        let description = ours().describe(id, &allocation, "");
        let line_at = description.find(ANY_VERSION).unwrap();
        let at = line_at + at % (description.len() - line_at);
        let tampered = format!("{}{letter}{}", &description[..at], &description[at + 1..]);
        prop_assume!(tampered != description);
        prop_assert!(ours().verify(&tampered, id).is_err());
    }

    #[test]
    fn p26_no_text_of_others_is_ours(text in "(?s).{0,500}", id in ids()) {
        prop_assert!(ours().verify(&text, id).is_err());
    }
}

#[test]
fn a_record_is_two_readable_lines() {
    let allocation = "a1".parse().unwrap();
    let description = ours().describe(vm(101), &allocation, "HyperFleet claim ci/linux-7\nof pool linux");
    let lines: Vec<&str> = description.lines().collect();
    assert_eq!(lines[0], "HyperFleet claim ci/linux-7 of pool linux");
    assert!(lines[2].starts_with("hyperfleet-owner: v1 operator=op-1 cluster=pve allocation=a1 vmid=101 signature="));
}

#[test]
fn our_own_copy_that_was_marked_again_is_ours() {
    let allocation = "a1".parse().unwrap();
    let twice = format!("{}\n{}", ours().describe(vm(101), &allocation, ""), ours().describe(vm(102), &allocation, ""));
    assert!(ours().verify(&twice, vm(102)).is_ok());
    assert_eq!(ours().verify(&twice, vm(103)), Err(Mark::CopyOf(vm(101))));
}

#[test]
fn a_record_of_a_later_version_is_not_guessed_at() {
    assert_eq!(ours().verify("hyperfleet-owner: v2 x", vm(101)), Err(Mark::Unreadable));
    assert_eq!(ours().verify("notes only", vm(101)), Err(Mark::Unmarked));
}

#[test]
fn p15_a_keyring_never_shows_its_key() {
    assert_eq!(format!("{:?}", ours()), "Keyring { operator: OperatorId(\"op-1\"), cluster: ClusterId(\"pve\"), .. }");
}
