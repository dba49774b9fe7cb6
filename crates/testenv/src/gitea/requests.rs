//! What tests do at a Gitea server, in the administrator's name.

use anyhow::{Context, Result, ensure};
use base64::Engine;
use http::{Method, Request, header};
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::home::{ADMINISTRATOR, PASSWORD};
use super::{Gitea, web};
use crate::demand::demand;

impl Gitea {
    /// Creates an organization and in it a repository that others can, or cannot, see; returns `owner/name`.
    pub async fn repository(&self, organization: &str, name: &str, private: bool) -> String {
        self.call(Method::POST, "/orgs", &json!({ "username": organization })).await;
        let order = json!({ "name": name, "auto_init": true, "default_branch": "main", "private": private });
        self.call(Method::POST, &format!("/orgs/{organization}/repos"), &order).await;
        format!("{organization}/{name}")
    }

    /// Puts a workflow into a repository without starting it.
    pub async fn workflow(&self, repository: &str, file: &str, text: &str) {
        let content = base64::engine::general_purpose::STANDARD.encode(text);
        let commit = json!({ "message": "add a workflow [skip ci]", "branch": "main", "content": content });
        self.call(Method::POST, &format!("/repos/{repository}/contents/.gitea/workflows/{file}"), &commit).await;
    }

    /// Starts a workflow; returns the id of its run.
    pub async fn dispatch(&self, repository: &str, file: &str) -> u64 {
        let path = format!("/repos/{repository}/actions/workflows/{file}/dispatches?return_run_details=true");
        let run = self.call(Method::POST, &path, &json!({ "ref": "main" })).await;
        run["workflow_run_id"].as_u64().expect("Gitea tells the id of the run")
    }

    /// The runs of a repository that have not ended.
    pub async fn unfinished_runs(&self, repository: &str) -> Vec<u64> {
        let path = format!("/repos/{repository}/actions/runs?status=queued&status=waiting&status=in_progress");
        let runs = self.call(Method::GET, &path, &Value::Null).await;
        let ids = runs["workflow_runs"].as_array().into_iter().flatten().filter_map(|run| run["id"].as_u64());
        ids.collect()
    }

    /// Delivers `workflow_job` events below `scope` (`repos/owner/name`, `orgs/name`) to a receiver.
    pub async fn hook(&self, scope: &str, receiver: &str, secret: &str) {
        let config = json!({ "url": receiver, "content_type": "json", "secret": secret });
        let order = json!({ "type": "gitea", "active": true, "events": ["workflow_job"], "config": config });
        let hook = self.call(Method::POST, &format!("/{scope}/hooks"), &order).await;
        assert_eq!(hook["events"], json!(["workflow_job"]), "Gitea drops events that it does not know");
    }

    /// Stops the hooks below these scopes from delivering, or lets them deliver again. What they missed they never tell.
    pub async fn silence(&self, scopes: &[&str], silent: bool) {
        for scope in scopes {
            let hooks = self.call(Method::GET, &format!("/{scope}/hooks"), &Value::Null).await;
            for id in hooks.as_array().into_iter().flatten().filter_map(|hook| hook["id"].as_u64()) {
                self.call(
                    Method::PATCH,
                    &format!("/{scope}/hooks/{id}"),
                    &json!({ "active": !silent, "events": ["workflow_job"] }),
                )
                .await;
            }
        }
    }

    /// A token of the administrator's, by a new name, that may do only this, such as `read:repository`.
    pub async fn token_for(&self, name: &str, scopes: &[&str]) -> String {
        let login = base64::engine::general_purpose::STANDARD.encode(format!("{ADMINISTRATOR}:{PASSWORD}"));
        let order = json!({ "name": name, "scopes": scopes });
        let path = format!("/users/{ADMINISTRATOR}/tokens");
        let token = demand("make a token", self.api(Method::POST, &path, &order, &format!("Basic {login}")).await);
        token["sha1"].as_str().expect("a new token is told once").to_owned()
    }

    /// Runs a job of the server's own that otherwise runs by the clock, such as `stop_zombie_tasks`.
    pub async fn cron(&self, task: &str) {
        self.call(Method::POST, &format!("/admin/cron/{task}"), &Value::Null).await;
    }

    /// Cancels a run. The API has no way to, so this is what the button on its page does.
    pub async fn cancel(&self, repository: &str, run: u64) {
        demand("cancel a run", self.press_cancel(repository, run).await);
    }

    async fn press_cancel(&self, repository: &str, run: u64) -> Result<()> {
        let login = Request::post(format!("{}/user/login", self.url()))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Bytes::from(format!("user_name={ADMINISTRATOR}&password={PASSWORD}")))?;
        let cookies = web::cookies(self.web.send(login).await?.headers());
        let press = Request::post(format!("{}/{repository}/actions/runs/{run}/cancel", self.url()))
            .header(header::COOKIE, cookies)
            .body(Bytes::new())?;
        let status = self.web.send(press).await?.status();
        ensure!(status.is_success(), "the button answered {status}");
        Ok(())
    }

    /// Makes a call of the API; panics with the answer if it is no success.
    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        let what = format!("{method} {path}");
        demand(&what, self.api(method, path, body, &format!("token {}", self.token())).await)
    }

    async fn api(&self, method: Method, path: &str, body: &Value, authorization: &str) -> Result<Value> {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/api/v1{path}", self.url()))
            .header(header::AUTHORIZATION, authorization)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Bytes::from(text))?;
        let answer = self.web.send(request).await?;
        let said = String::from_utf8_lossy(answer.body());
        ensure!(answer.status().is_success(), "{} {said}", answer.status());
        if said.is_empty() { Ok(Value::Null) } else { serde_json::from_str(&said).context("no JSON") }
    }
}
