//! A cluster that `hyperfleet` is pointed at: our own API server, in this process.

use api::HypervisorCluster;
use apiserver::store::Memory;
use chassis::{Clock, Tasks};
use kube::Api;
use kube::api::ListParams;
use operator::single::{HISTORY, Keys, Options, Single};

use crate::person::Person;

/// A cluster, and the flags that lead to it.
pub(crate) struct Town {
    pub(crate) single: Single,
    pub(crate) kubeconfig: String,
    _tasks: Tasks,
}

impl Town {
    pub(crate) async fn new(person: &Person) -> Self {
        let (tasks, clock) = (Tasks::new(), Clock::system());
        let options = Options {
            clock,
            storage: Box::new(Memory),
            history: HISTORY,
            listen: "127.0.0.1:0".parse().unwrap(),
            names: Vec::new(),
            keys: Keys::fresh(clock.now()).unwrap(),
        };
        let single = Single::start(options, &tasks).await.unwrap();
        let kubeconfig = person.file("kubeconfig", &single.kubeconfig());
        Self { single, kubeconfig, _tasks: tasks }
    }

    pub(crate) fn flags(&self) -> [&str; 5] {
        ["--apply-manifests", "-n", "default", "--kubeconfig", &self.kubeconfig]
    }

    pub(crate) fn objects<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.single.admin(), "default")
    }

    pub(crate) async fn clusters(&self) -> Vec<(String, String)> {
        let listed = self.objects::<HypervisorCluster>().list(&ListParams::default()).await.unwrap();
        let pair = |cluster: HypervisorCluster| (cluster.metadata.name.unwrap(), cluster.spec.endpoint.to_string());
        listed.items.into_iter().map(pair).collect()
    }
}
