//! A token for somebody who is to look, from the cluster itself: for those who run one for a person, as a demonstration does.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The account that looks.
const ACCOUNT: &str = "console";

/// The role that `deploy/rbac/users.yaml` has, too.
const ROLE: &str = "hyperfleet-operator-console-reader";

/// Why nobody could be invited.
#[derive(Debug, thiserror::Error)]
pub enum InviteError {
    /// The API server refused, or did not answer.
    #[error("the account that looks at the console cannot be made")]
    Api(#[from] kube::Error),
    /// It answered, and gave none.
    #[error("the API server gave no token for the service account {ACCOUNT}")]
    NoToken,
}

/// A token for the console that is good for so long, of the service account `console` in `namespace`, which is made if it is
/// not there. `client` must be allowed to make accounts and to grant what it grants: an administrator's.
pub async fn invite(client: &Client, namespace: &str, life: Duration) -> Result<SecretString, InviteError> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    make(&accounts, json!({ "metadata": { "name": ACCOUNT } })).await?;
    let rules = json!([{ "nonResourceURLs": ["/console/*"], "verbs": ["get"] }]);
    make(&Api::<ClusterRole>::all(client.clone()), json!({ "metadata": { "name": ROLE }, "rules": rules })).await?;
    let binding = json!({
        "metadata": { "name": format!("{ROLE}-{namespace}") },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ROLE },
        "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace }],
    });
    make(&Api::<ClusterRoleBinding>::all(client.clone()), binding).await?;
    let wish = json!({ "spec": { "audiences": [], "expirationSeconds": life.as_secs() } });
    let wish: TokenRequest = serde_json::from_value(wish).expect("a token request as the API has it");
    let answer = accounts.create_token_request(ACCOUNT, &PostParams::default(), &wish).await?;
    answer.status.map(|status| SecretString::from(status.token)).ok_or(InviteError::NoToken)
}

/// Makes an object, unless there is one of that name.
async fn make<K>(objects: &Api<K>, object: Value) -> Result<(), kube::Error>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let object: K = serde_json::from_value(object).expect("written here, and tested");
    match objects.create(&PostParams::default(), &object).await {
        Err(kube::Error::Api(refusal)) if refusal.code == 409 => Ok(()),
        made => made.map(drop),
    }
}
