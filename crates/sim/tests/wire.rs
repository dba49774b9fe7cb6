//! HTTP on a real socket, with the waiting times of the real programs divided by a hundred.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chassis::{Clock, Tasks};
use sim::proxmox::{
    Authority, FaultId, FaultRule, Fixture, Limits, Options, Profile, Release, Server, Simulator, Transport,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

const TOKEN: &str = "Authorization: PVEAPIToken=op@pve!hf=11111111-1111-4111-8111-111111111111\r\n";

async fn server(transport: Transport) -> (SocketAddr, Tasks) {
    let options = Options::new(Release::V9, Fixture::Golden, Clock::system());
    let (address, _, tasks) = simulated(options, transport).await;
    (address, tasks)
}

async fn simulated(options: Options, transport: Transport) -> (SocketAddr, Simulator, Tasks) {
    let tasks = Tasks::new();
    let simulator = Simulator::new(Options { limits: Limits::REAL.faster(100), ..options }, &tasks);
    let server = Server::start(&simulator, "127.0.0.1:0".parse().unwrap(), transport).await.unwrap();
    (server.address(), simulator, tasks)
}

/// Sends a request on a connection and reads one answer: its head and its body.
async fn ask(stream: &mut TcpStream, request: &str) -> (String, String) {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&seen).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap_or("0");
            if body.len() >= length.parse().unwrap() {
                return (head.to_owned(), body.to_owned());
            }
        }
        let mut buffer = [0; 4_096];
        let read = timeout(Duration::from_secs(5), stream.read(&mut buffer)).await.unwrap().unwrap();
        assert!(read > 0, "the connection ended after {text:?}");
        seen.extend_from_slice(&buffer[..read]);
    }
}

fn get(path: &str) -> String {
    format!("GET /api2/json{path} HTTP/1.1\r\nHost: x\r\n{TOKEN}\r\n")
}

async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut buffer = [0; 1];
    matches!(timeout(Duration::from_secs(2), stream.read(&mut buffer)).await, Ok(Ok(0)))
}

#[tokio::test]
async fn a_connection_is_kept_for_a_while_and_closed_when_idle() {
    let (address, _tasks) = server(Transport::Plain).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (head, _) = ask(&mut stream, &get("/version")).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("Connection: Keep-Alive"), "{head}");
    let idle = Instant::now();
    assert!(is_closed(&mut stream).await);
    assert!(idle.elapsed() >= Duration::from_millis(45), "{:?}", idle.elapsed());
}

/// Dice for a fault were taken from a state that its caller held, so that a clone stood still, and everything with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_that_strike_by_chance_keep_nobody_waiting() {
    // The image is on storage that every node has, so that it can be cloned to another one.
    let profile = Profile { name: "ceph", ..Profile::ZERO };
    let options = Options { profile, ..Options::new(Release::V9, Fixture::Demo, Clock::system()) };
    let (address, simulator, _tasks) = simulated(options, Transport::Plain).await;
    let never = |id| FaultRule { times: Some(0), chance: Some(0.0), ..FaultRule::new(id) };
    simulator.set_faults([FaultId::F07, FaultId::F08].map(never).to_vec());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (head, body) = ask(&mut stream, &get("/nodes/pve1/qemu/9000/feature?feature=clone")).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head} {body}");
    let order = "newid=4711&pool=hf&target=pve2";
    let form = format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}", order.len());
    let clone =
        format!("POST /api2/json/nodes/pve1/qemu/9000/clone HTTP/1.1\r\nHost: x\r\n{TOKEN}{form}\r\n\r\n{order}");
    let (head, body) = ask(&mut stream, &clone).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head} {body}");
    let made = async {
        while !ask(&mut stream, &get("/cluster/resources?type=vm")).await.1.contains("qemu/4711") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(20), made).await.expect("the clone stands still");
}

#[tokio::test]
async fn the_hundredth_answer_is_the_last_of_its_connection() {
    let (address, _tasks) = server(Transport::Plain).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    for number in 1..=100 {
        let (head, _) = ask(&mut stream, &get("/cluster/nextid")).await;
        assert_eq!(head.contains("Connection: close"), number == 100, "{number}: {head}");
    }
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn an_error_closes_the_connection_and_stands_in_the_status_line() {
    let (address, _tasks) = server(Transport::Plain).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (head, body) = ask(&mut stream, &get("/nodes/vm/qemu/777/config")).await;
    let says = "Configuration file 'nodes/vm/qemu-server/777.conf' does not exist";
    assert!(head.starts_with(&format!("HTTP/1.1 500 {says}\r\n")) && head.contains("Connection: close"), "{head}");
    assert!(body.contains(says), "{body}");
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn what_the_http_layer_does_not_take_is_refused_before_anything_else() {
    let (address, _tasks) = server(Transport::Plain).await;
    let requests = [
        ("PATCH /api2/json/version HTTP/1.1\r\nHost: x\r\n\r\n", "501 method 'PATCH' not available"),
        ("HEAD /api2/json/version HTTP/1.1\r\nHost: x\r\n\r\n", "501 method 'HEAD' not available"),
        (
            "POST /api2/json/nodes/vm/qemu HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na=1\r\n0\r\n\r\n",
            "501 chunked transfer encoding not supported",
        ),
        (
            "DELETE /api2/json/nodes/vm/qemu/150 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=1",
            "501 Unexpected content for method 'DELETE'",
        ),
        (
            "POST /api2/json/nodes/vm/qemu HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\na=1",
            "506 upload 'Content-Type 'text/plain' not implemented",
        ),
    ];
    for (request, says) in requests {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let (head, body) = ask(&mut stream, request).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {says}\r\n")), "{request}: {head}");
        assert_eq!(body, "");
    }
}

#[tokio::test]
async fn whoever_does_not_say_who_he_is_waits_for_his_refusal() {
    let (address, _tasks) = server(Transport::Plain).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let started = Instant::now();
    let (head, body) = ask(&mut stream, "GET /api2/json/version HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 401 No ticket\r\n"), "{head}");
    assert!(started.elapsed() >= Duration::from_millis(30) && body.is_empty());
}

#[tokio::test]
async fn plain_http_is_sent_to_where_tls_is_spoken() {
    let authority = Arc::new(Authority::new(&["localhost", "127.0.0.1"]).unwrap());
    let (address, _tasks) = server(Transport::Tls(authority)).await;
    for (verb, status) in [("GET", 301), ("POST", 308)] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{verb} /api2/json/version HTTP/1.1\r\nHost: pve:8006\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        timeout(Duration::from_secs(5), stream.read_to_string(&mut text)).await.unwrap().unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
        assert!(text.to_lowercase().contains("location: https://pve:8006/api2/json/version"), "{text}");
    }
}

#[tokio::test]
async fn control_is_for_this_machine_only() {
    let tasks = Tasks::new();
    let simulator = Simulator::new(Options::new(Release::V9, Fixture::Golden, Clock::system()), &tasks);
    let open = Server::start(&simulator, "0.0.0.0:0".parse().unwrap(), Transport::Plain).await.unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", open.address().port())).await.unwrap();
    let (head, _) = ask(&mut stream, "GET /sim/state HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    let (address, _own) = server(Transport::Plain).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (head, body) = ask(&mut stream, "GET /sim/state HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 ") && body.contains("\"quorate\":true"), "{head} {body}");
}
