//! Service accounts with chosen rights: tests run under exactly the roles that a user installs.

mod binding;
mod grant;

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::{SelfSubjectRulesReview, SelfSubjectRulesReviewSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::demand::demand;
use crate::plane::ControlPlane;
use crate::waiting::eventually;
use binding::{apply, bind};
pub use grant::Grant;

/// How long rights may take to reach the API server's authorizer.
const GRANTED_WITHIN: Duration = Duration::from_secs(30);

/// Longer than any test run.
const TOKEN_SECONDS: i64 = 12 * 60 * 60;

/// A service account of the control plane, with a token that the API server issued for it.
#[derive(Clone, Debug)]
pub struct ServiceAccountRef {
    namespace: String,
    name: String,
    token: String,
}

impl ServiceAccountRef {
    /// Its namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Its user name, as the audit log and access reviews spell it.
    pub fn username(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

impl ControlPlane {
    /// Makes a service account with exactly these rights; returns when the API server honours all of them.
    ///
    /// Each role is installed under a name of this account's own, so that tests with other ideas of the same role do not meet.
    pub async fn service_account(&self, namespace: &str, name: &str, grants: &[Grant]) -> ServiceAccountRef {
        let client = self.client();
        let account = demand("create a service account", create(&client, namespace, name).await);
        for (index, grant) in grants.iter().enumerate() {
            demand("bind a role to a service account", bind(&client, &account, index, grant).await);
        }
        let own = self.client_for(&account);
        for grant in grants {
            eventually("the rights of a service account are honoured", GRANTED_WITHIN, async || {
                holds(&own, grant, namespace).await.then_some(())
            })
            .await;
        }
        account
    }
}

async fn create(client: &Client, namespace: &str, name: &str) -> Result<ServiceAccountRef> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    apply(&accounts, name, &ServiceAccount { metadata, ..ServiceAccount::default() }).await?;
    let request = TokenRequest {
        spec: TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() },
        ..TokenRequest::default()
    };
    let answer = accounts.create_token_request(name, &PostParams::default(), &request).await?;
    let token = answer.status.context("a token request without an answer")?.token;
    Ok(ServiceAccountRef { namespace: namespace.to_owned(), name: name.to_owned(), token })
}

/// Whether the API server says, to the account itself, that it holds every rule of the grant.
async fn holds(own: &Client, grant: &Grant, account_namespace: &str) -> bool {
    let review = SelfSubjectRulesReview {
        spec: SelfSubjectRulesReviewSpec { namespace: Some(grant.seen_in(account_namespace).to_owned()) },
        ..SelfSubjectRulesReview::default()
    };
    let Ok(answer) = Api::all(own.clone()).create(&PostParams::default(), &review).await else {
        return false;
    };
    let Some(status) = answer.status else { return false };
    grant.rules().iter().all(|rule| {
        let paths = rule.non_resource_urls.as_deref().unwrap_or_default();
        let resources = rule.resources.as_deref().unwrap_or_default();
        let of_paths = status
            .non_resource_rules
            .iter()
            .any(|held| held.verbs == rule.verbs && held.non_resource_urls.as_deref().unwrap_or_default() == paths);
        let of_resources = status.resource_rules.iter().any(|held| {
            held.verbs == rule.verbs
                && held.api_groups.as_deref().unwrap_or_default() == rule.api_groups.as_deref().unwrap_or_default()
                && held.resources.as_deref().unwrap_or_default() == resources
                && held.resource_names.as_deref().unwrap_or_default()
                    == rule.resource_names.as_deref().unwrap_or_default()
        });
        (paths.is_empty() || of_paths) && (resources.is_empty() || of_resources)
    })
}
