//! The lanes that start a control plane, on a small workspace.

#[path = "toy/workspace.rs"]
mod workspace;

use workspace::Workspace;

#[tokio::test]
async fn real_and_soak_tests_find_a_control_plane() {
    let workspace = Workspace::new();
    let ran = workspace.lanes(&["real", "soak"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.output);
    assert_eq!(workspace.list("real"), "toy::real_plane::there_is_a_control_plane ok\n");
    assert_eq!(workspace.list("soak"), "toy::toy::tests::soak_counts_to_two ok\n");
    assert!(ran.output.contains("  counted to 2"), "{}", ran.output);
    assert_eq!(ran.output.lines().last(), Some("2 passed, 0 failed"), "{}", ran.output);
}
