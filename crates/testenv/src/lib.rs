//! Real servers for tests: a Kubernetes control plane, a Gitea ([`Gitea`]), and towns with our own programs ([`Town`]).
//!
//! ```text
//!   test ──▶ shared() ─────────────┐          one per `make test`, found by HYPERFLEET_TEST_CONTROL_PLANE,
//!                                  ▼          or started for this test program alone
//!   test ──▶ ControlPlane::start ─▶ etcd ◀── kube-apiserver ◀── kube-controller-manager
//!            (tests that hurt it)              RBAC on, audit log    garbage collection, namespaces
//! ```
//!
//! The programs are the real ones, built by `make tools` (or taken from `KUBEBUILDER_ASSETS`). They listen on free loopback
//! ports, keep everything in one temporary directory, and end with the test that started them: on drop, on panic, and when
//! the test is killed with `kill -9` (see [`Program`] and `guard`).
//!
//! This library is for tests. Its methods panic with a message for a person instead of returning errors that every test
//! would unwrap; a missing program is such a panic, never a skipped test.
//!
//! ```no_run
//! # async fn example() {
//! let plane = testenv::shared().await;
//! let namespace = plane.namespace("demo").await;
//! let reader = plane.service_account(&namespace, "reader", &[]).await;
//! assert!(plane.kubectl(&["get", "namespace", &namespace]).await.success());
//! # let client: kube::Client = plane.client_for(&reader);
//! # }
//! ```

mod access;
mod account;
mod assets;
mod audit;
mod demand;
mod gitea;
mod guard;
mod kubectl;
mod pki;
mod plane;
mod ports;
mod program;
mod town;
mod waiting;

pub use account::{Grant, ServiceAccountRef};
pub use assets::{Missing, Tool};
pub use audit::{Audit, AuditLine, AuditMark};
pub use gitea::Gitea;
pub use kubectl::Output;
pub use plane::{CONTROL_PLANE_VARIABLE, ControlPlane, Options, shared};
pub use ports::free_port;
pub use program::{Line, Program, Signal, Stream};
pub use town::{Balancer, Blueprint, Simulated, Town, story};
pub use waiting::{Stopwatch, eventually};
