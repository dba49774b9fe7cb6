//! A simulated Proxmox VE is a destination like any other: calls to it are lost, doubled and judged.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use sim::proxmox::{Fixture, Options, Release, Simulator};
use sim::world::{Desk, Nature, Verb, Weather, World};
use tower::{Service as _, ServiceExt as _};

#[test]
fn a_hypervisor_stands_behind_the_same_network() {
    World::run(1, async |world: World| {
        let simulator = Simulator::new(Options::new(Release::V9, Fixture::Golden, world.clock()), world.tasks());
        world.serve("pve", Nature::Other, simulator.service());
        world.weather(Weather { request_lost: 0.2, answer_lost: 0.2, ..Weather::CALM });
        let answers: Arc<Mutex<Vec<Option<u16>>>> = Arc::default();
        let heard = Arc::clone(&answers);
        world.start("a", move |desk: &Desk| {
            let (line, heard) = (desk.line("pve").whole(), Arc::clone(&heard));
            desk.tasks.spawn("ask", async move {
                for _ in 0..100 {
                    let mut line = line.clone();
                    let request = Request::builder().uri("/api2/json/version").body(Full::new(Bytes::new())).unwrap();
                    let call = async {
                        let answer = line.ready().await.unwrap().call(request).await.ok()?;
                        let status = answer.status().as_u16();
                        answer.into_body().collect().await.ok()?;
                        Some(status)
                    };
                    let answer = tokio::time::timeout(Duration::from_secs(35), call).await.ok().flatten();
                    heard.lock().unwrap().push(answer);
                }
            });
        });
        world.pass(Duration::from_hours(2)).await;
        let answers = answers.lock().unwrap().clone();
        assert_eq!(answers.len(), 100);
        let lost = answers.iter().filter(|answer| answer.is_none()).count();
        assert!((20..60).contains(&lost), "{lost} of 100");
        // Nobody is logged in; what counts is that the server said so.
        assert!(answers.iter().flatten().all(|status| *status == 401), "{answers:?}");
        let history = world.history();
        assert!(history.calls.iter().all(|call| call.deed.verb == Verb::Read && call.to == "pve"));
    });
}
