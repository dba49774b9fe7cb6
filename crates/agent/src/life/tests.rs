//! Whole lives in paused time, one for each way they can end.

mod runner;
mod stage;

use std::time::Duration;

use protocol::{Plan, path};
use serde_json::{Value, json};
use stage::*;

use super::*;
use crate::{Answer, LineError};

#[tokio::test(start_paused = true)]
async fn a_good_life_proves_itself_works_keeps_its_lease_and_reports() {
    let (service, machine) = (Service::kind(plan()), Scripted::new(100, Exit::Code(3)));
    let (ending, took) = lives(&service, &machine).await;
    assert_eq!((ending, took), (Ending::Finished(Exit::Code(3)), 100.0));
    let start = json!({ "token": TOKEN, "machine": FIRMWARE, "agent": crate::VERSION });
    assert_eq!(service.posted(START), [(0.0, start)]);
    let leases: Vec<f64> = service.posted(path::LEASE).iter().map(|(at, _)| *at).collect();
    assert_eq!(leases, [30.0, 60.0, 90.0]);
    let finished = json!({ "report": "finished", "class": "exited", "exitCode": 3, "output": "the end" });
    assert_eq!(service.reports(), [json!({ "report": "started" }), finished]);
    assert_eq!(machine.begun_and_ended(), (true, true), "what the work left behind is ended too");
}

#[tokio::test(start_paused = true)]
async fn a_signal_is_trouble_and_no_exit_code() {
    let (service, machine) = (Service::kind(plan()), Scripted::new(1, Exit::Signal(9)));
    assert_eq!(lives(&service, &machine).await.0, Ending::Finished(Exit::Signal(9)));
    let finished =
        json!({ "report": "finished", "class": "exited", "trouble": "ended by signal 9", "output": "the end" });
    assert_eq!(service.reports()[1], finished);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_comes_up_late_is_waited_for_with_growing_pauses() {
    let service = Service::new(|heard| match heard.path.as_str() {
        START if heard.at < 30.0 => gone(),
        _ => Ok(kindly(heard, &plan())),
    });
    assert_eq!(lives(&service, &Scripted::new(1, Exit::Code(0))).await.0, Ending::Finished(Exit::Code(0)));
    let tries: Vec<f64> = service.posted(START).iter().map(|(at, _)| *at).collect();
    assert_eq!(tries, [0.0, 0.5, 1.5, 3.5, 7.5, 15.5, 25.5, 35.5]);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_never_comes_up_is_given_up_after_ten_minutes() {
    let service = Service::new(|_| gone());
    let (ending, took) = lives(&service, &Scripted::endless()).await;
    assert!(matches!(ending, Ending::Unreachable(ref why) if why.contains("connection refused")), "{ending}");
    assert!((600.0..611.0).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_lost_is_asked_for_again_with_the_same_words() {
    let mut lost = false;
    let service = Service::new(move |heard| match heard.path.as_str() {
        START if !std::mem::replace(&mut lost, true) => Err(LineError::Unreachable("cut off".to_owned())),
        _ => Ok(kindly(heard, &plan())),
    });
    assert_eq!(lives(&service, &Scripted::new(1, Exit::Code(0))).await.0, Ending::Finished(Exit::Code(0)));
    let said = service.posted(START);
    assert_eq!((said.len(), &said[0].1), (2, &said[1].1));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_the_service_is_given_up_after_two_minutes_and_people_are_told_why() {
    let service = Service::new(|_| Err(LineError::Untrusted("certificate expired".to_owned())));
    let (ending, took) = lives(&service, &Scripted::endless()).await;
    assert!(matches!(ending, Ending::Untrusted(ref why) if why.contains("certificate expired")), "{ending}");
    assert!((120.0..131.0).contains(&took), "{took}");
    let beacons = service.posted(BEACON);
    assert_eq!(beacons.len(), service.posted(START).len());
    assert_eq!(beacons[0].1, json!({ "stage": "trust", "trouble": "certificate expired", "clock": 17 }));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_late_is_forgiven() {
    let service = Service::new(|heard| match heard.path.as_str() {
        START if heard.at < 90.0 => Err(LineError::Untrusted("certificate not valid yet".to_owned())),
        _ => Ok(kindly(heard, &plan())),
    });
    assert_eq!(lives(&service, &Scripted::new(1, Exit::Code(0))).await.0, Ending::Finished(Exit::Code(0)));
}

#[tokio::test(start_paused = true)]
async fn doubts_that_were_answered_do_not_add_up() {
    // Doubted for 100 s, answered once, doubted for 100 s again: never for two minutes at a time.
    let service = Service::new(|heard| match heard.path.as_str() {
        START if heard.at < 100.0 => Err(LineError::Untrusted("another certificate".to_owned())),
        START if heard.at < 115.0 => Ok(Answer::new(503, "")),
        START if heard.at < 215.0 => Err(LineError::Untrusted("another certificate".to_owned())),
        _ => Ok(kindly(heard, &plan())),
    });
    assert_eq!(lives(&service, &Scripted::new(1, Exit::Code(0))).await.0, Ending::Finished(Exit::Code(0)));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_tried_again_for_ten_seconds_and_then_believed() {
    let service = Service::new(|_| Ok(Answer::new(403, "{}")));
    let (ending, took) = lives(&service, &Scripted::endless()).await;
    assert!(matches!(ending, Ending::Refused(ref why) if why.contains("403")), "{ending}");
    assert_eq!((service.posted(START).len(), took), (6, 10.0));
}

#[tokio::test(start_paused = true)]
async fn a_service_whose_view_lags_is_forgiven() {
    let service = Service::new(|heard| match heard.path.as_str() {
        START if heard.at < 5.0 => Ok(Answer::new(403, "{}")),
        _ => Ok(kindly(heard, &plan())),
    });
    assert_eq!(lives(&service, &Scripted::new(1, Exit::Code(0))).await.0, Ending::Finished(Exit::Code(0)));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_wants_to_be_left_alone_is() {
    for status in [429, 503] {
        let service = Service::new(move |heard| match heard.path.as_str() {
            START if heard.at < 20.0 => {
                Ok(Answer { retry_after: Some(Duration::from_secs(20)), ..Answer::new(status, "") })
            }
            _ => Ok(kindly(heard, &plan())),
        });
        assert_eq!(lives(&service, &Scripted::new(1, Exit::Code(0))).await.0, Ending::Finished(Exit::Code(0)));
        let tries: Vec<f64> = service.posted(START).iter().map(|(at, _)| *at).collect();
        assert_eq!(tries, [0.0, 20.0], "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_always_busy_is_given_up() {
    let service = Service::new(|_| Ok(Answer::new(503, "")));
    let (ending, took) = lives(&service, &Scripted::endless()).await;
    assert!(matches!(ending, Ending::Unreachable(ref why) if why.contains("503")), "{ending}");
    assert!((600.0..611.0).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn other_answers_are_final() {
    for status in [302, 400, 401, 404, 410, 413] {
        let service = Service::new(move |_| Ok(Answer::new(status, "")));
        let (ending, took) = lives(&service, &Scripted::endless()).await;
        assert!(matches!(ending, Ending::Refused(_)), "{status}: {ending}");
        assert_eq!((took, service.heard().len()), (0.0, 1), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_plan_is_not_shown() {
    let service = Service::new(|_| Ok(Answer::new(200, "{\"plan\": \"canary\"}")));
    let (ending, _) = lives(&service, &Scripted::endless()).await;
    assert!(matches!(ending, Ending::Refused(ref why) if !why.contains("canary")), "{ending}");
}

#[tokio::test(start_paused = true)]
async fn work_that_cannot_begin_is_reported() {
    let machine = Scripted { trouble: Some("there is no user \"ada\""), ..Scripted::endless() };
    let service = Service::kind(plan());
    let (ending, _) = lives(&service, &machine).await;
    assert_eq!(ending, Ending::Unprepared("there is no user \"ada\"".to_owned()));
    let trouble = "the work could not begin: there is no user \"ada\"";
    assert_eq!(service.reports(), [json!({ "report": "finished", "class": "unprepared", "trouble": trouble })]);
}

#[tokio::test(start_paused = true)]
async fn work_beyond_its_deadline_is_ended() {
    let service = Service::kind(Plan { deadline_seconds: Some(75), ..plan() });
    let machine = Scripted::endless();
    assert_eq!(lives(&service, &machine).await, (Ending::DeadlinePassed(75), 75.0));
    assert_eq!(machine.begun_and_ended(), (true, true));
    let finished = json!({ "report": "finished", "class": "deadline-passed", "trouble": "ran longer than 75 s", "output": "the end" });
    assert_eq!(service.reports()[1], finished);
}

#[tokio::test(start_paused = true)]
async fn the_service_can_end_the_work() {
    let service = Service::new(|heard| match heard.path.as_str() {
        path::LEASE if heard.at > 50.0 => Ok(lease(Order::End)),
        _ => Ok(kindly(heard, &plan())),
    });
    let machine = Scripted::endless();
    assert_eq!(lives(&service, &machine).await, (Ending::EndedByService, 60.0));
    assert_eq!(machine.begun_and_ended(), (true, true));
    assert_eq!(service.reports()[1]["trouble"], "ended on the service's order");
}

#[tokio::test(start_paused = true)]
async fn work_that_is_unwanted_from_the_start_is_not_begun() {
    let ended =
        protocol::Welcome { plan: plan(), lease: protocol::Lease { seconds: 30, order: Order::End }, clock: CLOCK };
    let ended = serde_json::to_vec(&ended).unwrap();
    let service = Service::new(move |heard| match heard.path.as_str() {
        START => Ok(Answer::new(200, ended.clone())),
        _ => Ok(kindly(heard, &plan())),
    });
    let machine = Scripted::endless();
    assert_eq!(lives(&service, &machine).await.0, Ending::EndedByService);
    assert_eq!(machine.begun_and_ended(), (false, false));
    assert_eq!(service.reports().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_command_drains_by_coming_to_its_end() {
    let service = Service::new(|heard| match heard.path.as_str() {
        path::LEASE => Ok(lease(Order::Drain)),
        _ => Ok(kindly(heard, &plan())),
    });
    let (ending, took) = lives(&service, &Scripted::new(100, Exit::Code(0))).await;
    assert_eq!((ending, took), (Ending::Finished(Exit::Code(0)), 100.0));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_nobody_renews_is_lost_after_three_times_its_length() {
    let service = Service::new(|heard| match heard.path.as_str() {
        path::LEASE if heard.at > 50.0 => gone(),
        _ => Ok(kindly(heard, &plan())),
    });
    let machine = Scripted::endless();
    let (ending, took) = lives(&service, &machine).await;
    assert!(matches!(ending, Ending::LeaseLost(ref why) if why.contains("connection refused")), "{ending}");
    // Renewed at 30 s for the last time.
    assert_eq!((took, machine.begun_and_ended()), (120.0, (true, true)));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_renewed_late_is_kept() {
    let service = Service::new(|heard| match heard.path.as_str() {
        path::LEASE if heard.at > 50.0 && heard.at < 110.0 => Ok(Answer::new(503, "")),
        _ => Ok(kindly(heard, &plan())),
    });
    let (ending, took) = lives(&service, &Scripted::new(300, Exit::Code(0))).await;
    assert_eq!((ending, took), (Ending::Finished(Exit::Code(0)), 300.0));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_refused_is_lost_at_once() {
    let service = Service::new(|heard| match heard.path.as_str() {
        path::LEASE | path::STATUS => Ok(Answer::new(403, "")),
        _ => Ok(kindly(heard, &plan())),
    });
    let (ending, took) = lives(&service, &Scripted::endless()).await;
    assert!(matches!(ending, Ending::LeaseLost(_)), "{ending}");
    assert!((30.0..30.1).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_delays_the_end_by_ten_seconds_at_most() {
    let service = Service::new(|heard| match heard.path.as_str() {
        START => Ok(kindly(heard, &plan())),
        _ => gone(),
    });
    let (ending, took) = lives(&service, &Scripted::endless()).await;
    assert!(matches!(ending, Ending::LeaseLost(_)), "{ending}");
    assert!((100.0..100.1).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn reports_are_repeated_until_they_are_heard_and_in_order() {
    let service = Service::new(|heard| match heard.path.as_str() {
        path::STATUS if heard.at < 20.0 => gone(),
        _ => Ok(kindly(heard, &plan())),
    });
    let (ending, _) = lives(&service, &Scripted::new(1, Exit::Code(0))).await;
    assert_eq!(ending, Ending::Finished(Exit::Code(0)));
    let reports: Vec<(f64, Value)> = service.posted(path::STATUS);
    let heard: Vec<&Value> = reports.iter().filter(|(at, _)| *at >= 20.0).map(|(_, body)| &body["report"]).collect();
    assert_eq!(heard, ["started", "finished"]);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_hears_no_report_is_given_up_after_a_minute() {
    let service = Service::new(|heard| match heard.path.as_str() {
        path::STATUS => Ok(Answer::new(503, "")),
        _ => Ok(kindly(heard, &plan())),
    });
    let (ending, took) = lives(&service, &Scripted::new(10, Exit::Code(0))).await;
    assert_eq!((ending, took), (Ending::Finished(Exit::Code(0)), 70.0));
}

#[tokio::test(start_paused = true)]
async fn work_does_not_wait_for_its_first_report() {
    // The service takes for ever over a report: the lease is kept and the work goes on.
    struct Slow(Service);
    impl Line for Slow {
        async fn post(&self, path: &str, body: Vec<u8>) -> Result<Answer, LineError> {
            if path == path::STATUS {
                std::future::pending::<()>().await;
            }
            self.0.post(path, body).await
        }
        async fn beacon(&self, _path: &str, _body: Vec<u8>) {}
    }
    let slow = Slow(Service::kind(plan()));
    let ending = live(&seed(), FIRMWARE, &slow, &Scripted::new(100, Exit::Code(0)), &Patience::default()).await;
    assert_eq!(ending, Ending::Finished(Exit::Code(0)));
    assert_eq!(slow.0.posted(path::LEASE).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_no_time_does_not_spin() {
    let service = Service::new(|heard| match heard.path.as_str() {
        path::LEASE => Ok(Answer::new(200, "{\"seconds\": 0, \"order\": \"go-on\"}")),
        _ => Ok(kindly(heard, &plan())),
    });
    lives(&service, &Scripted::new(60, Exit::Code(0))).await;
    assert_eq!(service.posted(path::LEASE).len(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_life_can_be_lived_in_the_background() {
    // As simulated worlds do, with many machines at once.
    let mut lives = tokio::task::JoinSet::new();
    for _ in 0..100 {
        lives.spawn(async {
            let (service, machine) = (Service::kind(plan()), Scripted::new(3600, Exit::Code(0)));
            live(&seed(), FIRMWARE, &service, &machine, &Patience::default()).await
        });
    }
    let endings = lives.join_all().await;
    assert!(endings.iter().all(|ending| *ending == Ending::Finished(Exit::Code(0))));
}
