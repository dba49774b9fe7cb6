//! The lanes that need nothing but a compiler, on a small workspace.

#[path = "toy/workspace.rs"]
mod workspace;

use workspace::Workspace;

#[tokio::test]
async fn each_lane_lists_what_ran_and_the_last_line_counts_it() {
    let workspace = Workspace::new();
    workspace.write("target/test-results/old.txt", "toy::toy::removed_long_ago ok\n");
    let ran = workspace.lanes(&["unit", "virtual", "trace"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.output);
    let unit = workspace.list("unit");
    for line in [
        "toy::toy::tests::r1_1_two_is_two ok",
        "toy::toy::tests::two_is_not_three ok",
        "toy::toy::tests::soak_counts_to_two ignored",
        "workspace::documentation::crates/toy/src/lib.rs - (line 2) ok",
    ] {
        assert!(unit.lines().any(|one| one == line), "{line} is not in\n{unit}{}", ran.output);
    }
    assert!(!unit.contains("control_plane"), "{unit}");
    assert_eq!(workspace.list("virtual"), "toy::virtual_hours::p2_an_hour_passes ok\n");
    assert_eq!(workspace.list("old"), "", "what ran long ago is forgotten");
    assert!(ran.output.contains("  7 seeds"), "{}", ran.output);
    // Three tests and an example, one in virtual time, and the trace.
    assert_eq!(ran.output.lines().last(), Some("6 passed, 0 failed"), "{}", ran.output);
}

#[tokio::test]
async fn a_failed_test_is_shown_and_counted_and_fails_the_run() {
    let workspace = Workspace::new();
    workspace.write("crates/toy/rain", "");
    let ran = workspace.lanes(&["unit", "virtual"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.output);
    assert!(ran.output.contains("it rains"), "{}", ran.output);
    assert!(workspace.list("unit").contains("toy::toy::tests::the_sun_shines FAILED\n"));
    assert!(workspace.list("virtual").ends_with(" ok\n"), "the next lane ran all the same");
    assert_eq!(ran.output.lines().last(), Some("4 passed, 1 failed"), "{}", ran.output);
}

#[tokio::test]
async fn a_requirement_whose_test_did_not_run_fails_the_run() {
    let workspace = Workspace::new();
    let ran = workspace.lanes(&["virtual", "trace"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.output);
    assert_eq!(ran.output.lines().last(), Some("1 passed, 1 failed"), "{}", ran.output);
}

#[tokio::test]
async fn code_that_does_not_compile_runs_no_test() {
    let workspace = Workspace::new();
    workspace.write("crates/toy/src/lib.rs", "pub fn two() -> u8 { \"two\" }");
    let ran = workspace.lanes(&["unit"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.output);
    assert!(ran.output.contains("mismatched types") && ran.output.contains("the build failed"), "{}", ran.output);
}
