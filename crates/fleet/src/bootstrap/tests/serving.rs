//! Files of the seed that cloud-init fetches.

use api::SeedFile;
use proptest::prelude::*;

use super::*;

const GUEST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 5));

fn asked(claim: &MachineClaim, file: SeedFile, from: IpAddr, now: Timestamp) -> Result<MachineClaim, Withheld> {
    let status = serve(claim, &hash('s'), file, from, now)?;
    Ok(with(claim.clone(), |claim| claim.status = Some(status)))
}

#[test]
fn each_file_is_given_out_once_and_all_to_the_first_who_asks() {
    let mut claim = claim();
    for file in SeedFile::ALL {
        claim = asked(&claim, *file, GUEST, at(10)).unwrap();
        assert_eq!(asked(&claim, *file, GUEST, at(11)), Err(Withheld::Served));
    }
    let first = asked(&super::claim(), SeedFile::MetaData, GUEST, at(10)).unwrap();
    let other = IpAddr::from([10, 0, 0, 6]);
    assert_eq!(asked(&first, SeedFile::UserData, other, at(10)), Err(Withheld::Elsewhere));
    let mapped = std::net::Ipv4Addr::new(10, 0, 0, 5).to_ipv6_mapped().into();
    assert!(asked(&first, SeedFile::UserData, mapped, at(10)).is_ok(), "the same address, written otherwise");
}

#[test]
fn nothing_is_given_out_of_another_seed_or_without_one() {
    let file = SeedFile::UserData;
    assert_eq!(serve(&claim(), &hash('t'), file, GUEST, at(1)), Err(Withheld::Unknown));
    let bare = with(claim(), |claim| status_of(claim).bootstrap.as_mut().unwrap().seed_hash = None);
    assert_eq!(serve(&bare, &hash('s'), file, GUEST, at(1)), Err(Withheld::Unknown));
    let empty = with(claim(), |claim| claim.status = None);
    assert_eq!(serve(&empty, &hash('s'), file, GUEST, at(1)), Err(Withheld::Unknown));
}

#[test]
fn nothing_is_given_out_to_a_machine_that_has_proven_itself_or_is_at_its_end() {
    let file = SeedFile::UserData;
    for state in BootstrapState::ALL.iter().filter(|state| **state != BootstrapState::Pending) {
        let claim = with(claim(), |claim| status_of(claim).bootstrap.as_mut().unwrap().state = *state);
        assert_eq!(asked(&claim, file, GUEST, at(1)), Err(Withheld::Ended), "{state}");
    }
    for phase in [Phase::Terminating, Phase::Succeeded, Phase::Failed] {
        assert_eq!(asked(&with(claim(), in_phase(phase)), file, GUEST, at(1)), Err(Withheld::Ended), "{phase}");
    }
    let deleted = with(claim(), |claim| claim.metadata.deletion_timestamp = Some(api::Time(at(0))));
    assert_eq!(asked(&deleted, file, GUEST, at(1)), Err(Withheld::Ended));
    assert_eq!(asked(&claim(), file, GUEST, at(601)), Err(Withheld::Expired));
}

proptest! {
    #[test]
    fn row_8_whoever_asks_in_whatever_order_no_file_is_given_out_twice_or_to_two(
        calls in prop::collection::vec((0_usize..4, 0_u8..3), 0..30),
    ) {
        let (mut claim, mut given) = (claim(), Vec::new());
        for (file, guest) in calls {
            let file = SeedFile::ALL[file];
            if let Ok(after) = asked(&claim, file, IpAddr::from([10, 0, 0, guest]), at(10)) {
                given.push((file, guest));
                claim = after;
            }
        }
        let files: std::collections::BTreeSet<SeedFile> = given.iter().map(|(file, _)| *file).collect();
        prop_assert_eq!(files.len(), given.len());
        prop_assert!(given.iter().all(|(_, guest)| *guest == given[0].1));
    }
}
