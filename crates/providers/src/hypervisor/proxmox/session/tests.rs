//! Tickets in virtual time: renewed, lost, shared and refused.

use std::sync::{Arc, Mutex as StdMutex};

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use serde_json::json;
use tower::service_fn;

use super::super::api::{Api, Request as ApiRequest};
use super::super::guard::Slots;
use super::*;
use crate::http::TransportError;

/// A server that gives out numbered tickets and takes only the newest.
#[derive(Clone, Default)]
struct Server(Arc<StdMutex<Door>>);

#[derive(Default)]
struct Door {
    /// The password of every login, in order.
    logins: Vec<String>,
    issued: usize,
    revoked: bool,
    refuses_logins: bool,
    calls: usize,
}

impl Server {
    fn client(&self) -> Client {
        let server = self.clone();
        Client::over("test", service_fn(move |request| server.clone().answer(request)))
    }

    async fn answer(self, request: Request<Full<Bytes>>) -> Result<Response<Full<Bytes>>, TransportError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_or_else(|never| match never {}, http_body_util::Collected::to_bytes);
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut door = self.0.lock().unwrap();
        let answer = |status: u16, body: String| {
            let mut response = Response::new(Full::new(Bytes::from(body)));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            Ok(response)
        };
        if head.uri.path() == "/api2/json/access/ticket" {
            let form = String::from_utf8(body.to_vec()).unwrap();
            let password = form.split("password=").nth(1).unwrap().to_owned();
            door.logins.push(password.clone());
            let ticket = format!("PVE%3Aop%40pve%3A{}", door.issued);
            if door.refuses_logins || (password != "secret" && (password != ticket || door.revoked)) {
                return answer(401, String::new());
            }
            door.issued += 1;
            door.revoked = false;
            let (ticket, csrf) = (format!("PVE:op@pve:{}", door.issued), format!("csrf-{}", door.issued));
            return answer(200, json!({"data": {"ticket": ticket, "CSRFPreventionToken": csrf}}).to_string());
        }
        door.calls += 1;
        let cookie = head.headers.get(COOKIE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let good = cookie == format!("PVEAuthCookie=PVE%3Aop%40pve%3A{}", door.issued) && !door.revoked;
        let meant = head.method == Method::GET
            || head.headers.get(CSRF).is_some_and(|csrf| csrf.as_bytes() == format!("csrf-{}", door.issued).as_bytes());
        if good && meant { answer(200, json!({"data": null}).to_string()) } else { answer(401, String::new()) }
    }

    fn logins(&self) -> Vec<String> {
        self.0.lock().unwrap().logins.clone()
    }
}

fn api(server: &Server) -> Api {
    let credentials = Credentials::Password { user: "op@pve".into(), password: "secret".to_owned().into() };
    Api::new(server.client(), Session::new(credentials), Slots::new(3))
}

async fn read(api: &Api) -> Result<(), Error> {
    api.order(ApiRequest::get("/version", &[], Object::Hypervisor)).await
}

async fn change(api: &Api) -> Result<(), Error> {
    api.order(ApiRequest::delete("/nodes/{node}/x", &[&"n"], Object::Hypervisor)).await
}

#[tokio::test(start_paused = true)]
async fn a_ticket_is_renewed_with_itself_before_it_runs_out() {
    let server = Server::default();
    let api = api(&server);
    for _ in 0..10 {
        read(&api).await.unwrap();
        change(&api).await.unwrap();
        tokio::time::sleep(Duration::from_mins(20)).await;
    }
    // 200 minutes: one login and a renewal an hour after each.
    assert_eq!(server.logins(), ["secret", "PVE%3Aop%40pve%3A1", "PVE%3Aop%40pve%3A2", "PVE%3Aop%40pve%3A3"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_long_pause_the_password_is_used_again() {
    let server = Server::default();
    let api = api(&server);
    read(&api).await.unwrap();
    tokio::time::sleep(Duration::from_hours(2)).await;
    read(&api).await.unwrap();
    assert_eq!(server.logins(), ["secret", "secret"]);
}

#[tokio::test(start_paused = true)]
async fn callers_that_arrive_together_share_one_login() {
    let server = Server::default();
    let api = api(&server);
    let (a, b, c, d) = tokio::join!(read(&api), change(&api), read(&api), change(&api));
    assert_eq!((a, b, c, d), (Ok(()), Ok(()), Ok(()), Ok(())));
    assert_eq!(server.logins(), ["secret"]);
    server.0.lock().unwrap().revoked = true;
    let (a, b, c, d) = tokio::join!(read(&api), change(&api), read(&api), change(&api));
    assert_eq!((a, b, c, d), (Ok(()), Ok(()), Ok(()), Ok(())));
    assert_eq!(server.logins(), ["secret", "secret"], "one fresh login for all whose ticket was lost");
}

#[tokio::test(start_paused = true)]
async fn a_refused_login_is_tried_once_for_all_who_wait() {
    let server = Server::default();
    server.0.lock().unwrap().refuses_logins = true;
    let api = api(&server);
    let (a, b, c) = tokio::join!(read(&api), read(&api), read(&api));
    for outcome in [a, b, c] {
        assert_eq!(outcome.unwrap_err().as_str(), "Auth");
    }
    assert_eq!(server.logins(), ["secret"]);
    server.0.lock().unwrap().refuses_logins = false;
    read(&api).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn r1_5_new_credentials_are_used_from_the_next_call_on() {
    let server = Server::default();
    let wrong = Credentials::Password { user: "op@pve".into(), password: "old".to_owned().into() };
    let api = Api::new(server.client(), Session::new(wrong), Slots::new(3));
    assert_eq!(read(&api).await.unwrap_err().as_str(), "Auth");
    let right = Credentials::Password { user: "op@pve".into(), password: "secret".to_owned().into() };
    api.session().rotate(right).await;
    read(&api).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_not_tried_twice() {
    let server = Server::default();
    let token = Credentials::Token { id: "op@pve!hf".into(), secret: "1111".to_owned().into() };
    let api = Api::new(server.client(), Session::new(token), Slots::new(3));
    assert_eq!(read(&api).await.unwrap_err().as_str(), "Auth");
    assert_eq!(server.0.lock().unwrap().calls, 1, "each refusal costs three seconds");
}

#[test]
fn p15_credentials_never_show_their_secret() {
    let token = Credentials::Token { id: "op@pve!hf".into(), secret: "canary".to_owned().into() };
    let password = Credentials::Password { user: "op@pve".into(), password: "canary".to_owned().into() };
    let state = State { credentials: token.clone(), generation: 0, ticket: None, refused: None };
    let shown = format!("{token:?} {password:?} {:?}", state.pass().unwrap().headers);
    assert!(!shown.contains("canary"), "{shown}");
}
