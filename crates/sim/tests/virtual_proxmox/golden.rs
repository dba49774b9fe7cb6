//! The recorded answers of real Proxmox code, call by call.

use crate::replay::{Answer, Player, Row, normal};
use serde_json::{Value, json};
use sim::proxmox::Release;

pub(crate) fn rows() -> Vec<Row> {
    let text = include_str!("9.2.11.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What somebody outside did before a row: (row, verb, path, body).
const OUTSIDE: &[(usize, &str, &str, &str)] = &[
    (139, "POST", "/sim/locks/vm/101", ""),
    (146, "DELETE", "/sim/locks/vm/101", ""),
    (146, "POST", "/sim/locks/vm/102", ""),
    (149, "DELETE", "/sim/locks/vm/102", ""),
    (149, "POST", "/sim/locks/vm/9000", ""),
    (152, "DELETE", "/sim/locks/vm/9000", ""),
    (152, "POST", "/sim/locks/storage/store", ""),
    (158, "DELETE", "/sim/locks/storage/store", ""),
    (166, "PUT", "/sim/vms/103/lock", r#"{"lock":"clone"}"#),
];

fn differences(row: &Row, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, recorded: String, ours: String| {
        if recorded != ours {
            found.push(format!("{what}\n    recorded {recorded}\n    ours     {ours}"));
        }
    };
    compare("status", row.status.to_string(), answer.status.to_string());
    compare("reason", row.reason.clone(), answer.reason.clone());
    compare("connection", row.connection.clone(), answer.connection.clone());
    compare("content type", format!("{:?}", row.content_type), format!("{:?}", answer.content_type));
    compare("body", normal(&row.body).to_string(), normal(&answer.body).to_string());
    found
}

/// Makes every call, with what happened outside in between.
pub(crate) async fn play_all(release: Release, rows: &[Row]) -> Vec<Answer> {
    let (mut player, mut answers) = (Player::new(release), Vec::new());
    for (number, row) in rows.iter().enumerate() {
        for (_, verb, path, body) in OUTSIDE.iter().filter(|(at, ..)| *at == number) {
            player.control(verb, path, body).await;
        }
        answers.push(player.play(row).await);
    }
    answers
}

async fn replay(release: Release, rows: &[Row]) {
    let answers = play_all(release, rows).await;
    let mut complaints = Vec::new();
    for (number, (row, answer)) in rows.iter().zip(&answers).enumerate() {
        let found = differences(row, answer);
        if !found.is_empty() {
            complaints.push(format!("{number} {} {}\n  {}", row.method, row.path, found.join("\n  ")));
        }
    }
    assert!(complaints.is_empty(), "{} of {} rows differ:\n{}", complaints.len(), rows.len(), complaints.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn every_recorded_call_of_9_2_is_answered_as_it_was() {
    replay(Release::V9, &rows()).await;
}

/// The same calls as 8.4 answers them: everything that the two releases are known to differ in, and nothing else.
pub(crate) fn as_8_4(number: usize, row: &Row) -> Row {
    let mut row = row.clone();
    // Tags are normalised when they are changed, not when a VM is made.
    let text = row.body.to_string().replace("base;tmpl", "Tmpl;base");
    row.body = serde_json::from_str(&text).unwrap();
    without(&mut row.body, &["memhost", "formats"]);
    match number {
        0 => {
            row.body["data"]["version"] = json!("8.4.21");
            row.body["data"]["release"] = json!("8.4");
        }
        112 => {
            row.body["errors"]["ipconfig0"] = json!(
                "invalid format - format error\nipconfig0.ip: missing property - 'ipconfig0.gw' requires this property\n"
            );
        }
        // The right to run commands in a guest is the one to look at it, so the call gets further.
        138 => {
            row.status = 500;
            "No QEMU guest agent configured".clone_into(&mut row.reason);
            row.body = json!({ "data": null, "message": "No QEMU guest agent configured\n" });
        }
        // Disks that stay behind are not worth a warning.
        156 => row.body["data"]["exitstatus"] = json!("OK"),
        157 => {
            let text = row.body.to_string().replace("WARN: ", "").replace("TASK WARNINGS: 3", "TASK OK");
            row.body = serde_json::from_str(&text).unwrap();
        }
        _ => {}
    }
    row
}

fn without(body: &mut Value, names: &[&str]) {
    match body {
        Value::Object(members) => {
            members.retain(|name, _| !names.contains(&name.as_str()));
            members.values_mut().for_each(|member| without(member, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_calls_on_8_4_differ_only_where_the_releases_do() {
    let rows: Vec<Row> = rows().iter().enumerate().map(|(number, row)| as_8_4(number, row)).collect();
    replay(Release::V8, &rows).await;
}
