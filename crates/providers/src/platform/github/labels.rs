//! Labels: what a runner must say of itself, and which jobs it then gets.

/// What every runner of ours has.
pub(super) const OURS: &str = "self-hosted";
/// Words for systems; a runner has one.
const SYSTEMS: [&str; 3] = ["linux", "windows", "macos"];
/// Words for architectures; a runner has one.
const ARCHITECTURES: [&str; 3] = ["x64", "arm64", "arm"];

/// The labels of runners of a pool. A runner that is registered by us has exactly the labels that it is given, so those
/// that jobs expect of any runner are added: linux on x64, unless the pool says otherwise.
pub(super) fn offered(pool: &[String]) -> Vec<String> {
    let names = |words: &[&str]| pool.iter().any(|label| words.iter().any(|word| word.eq_ignore_ascii_case(label)));
    let mut labels = Vec::new();
    let implied = [
        (!names(&[OURS])).then_some(OURS),
        (!names(&SYSTEMS)).then_some("linux"),
        (!names(&ARCHITECTURES)).then_some("x64"),
    ];
    for label in implied.into_iter().flatten().chain(pool.iter().map(String::as_str)) {
        if !labels.iter().any(|known: &String| known.eq_ignore_ascii_case(label)) {
            labels.push(label.to_owned());
        }
    }
    labels
}

/// Whether the labels of a runner cover those that a job asks for, whatever their case.
pub(super) fn matches(wanted: &[String], offered: &[String]) -> bool {
    wanted.iter().all(|want| offered.iter().any(|offer| offer.eq_ignore_ascii_case(want)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn list(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[rstest]
    #[case("", "self-hosted linux x64")]
    #[case("gpu", "self-hosted linux x64 gpu")]
    #[case("Self-Hosted gpu GPU", "linux x64 Self-Hosted gpu")]
    #[case("ARM64", "self-hosted linux ARM64")]
    #[case("windows", "self-hosted x64 windows")]
    fn a_pool_has_its_labels_and_those_that_jobs_expect(#[case] pool: &str, #[case] expected: &str) {
        assert_eq!(offered(&list(pool)), list(expected));
    }

    #[rstest]
    #[case("", "", true)]
    #[case("", "a", true)]
    #[case("a", "a b", true)]
    #[case("A b", "B a", true)]
    #[case("a c", "a b", false)]
    #[case("a", "", false)]
    #[case("ab", "a b", false)]
    fn a_job_goes_to_a_runner_that_has_all_it_asks_for(#[case] wanted: &str, #[case] labels: &str, #[case] goes: bool) {
        assert_eq!(matches(&list(wanted), &list(labels)), goes);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn p12_r5_2_labels_are_the_pools_and_the_mandatory_ones_each_once(pool in proptest::collection::vec("[a-cA-C]{1,2}|linux|X64|arm64|self-hosted", 0..8)) {
            let labels = offered(&pool);
            for label in &pool {
                prop_assert_eq!(labels.iter().filter(|known| known.eq_ignore_ascii_case(label)).count(), 1);
            }
            let mandatory = ["self-hosted", "linux", "x64"];
            for label in &labels {
                let known = mandatory.contains(&label.as_str()) || pool.contains(label);
                prop_assert!(known, "{} is nobody's", label);
            }
            prop_assert!(labels.iter().any(|label| label.eq_ignore_ascii_case("self-hosted")));
            prop_assert!(matches(&pool, &labels));
        }
    }
}
