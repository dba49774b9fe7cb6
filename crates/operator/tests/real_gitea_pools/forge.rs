//! An organization at a Gitea, whose jobs write down where they ran and wait until they are let go.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use http::Method;
use serde_json::Value;
use tempfile::TempDir;
use testenv::Gitea;
use tokio::sync::OnceCell;

use crate::image::Image;

/// What jobs of these tests run on.
pub(crate) const LABEL: &str = "hyperfleet";
/// What is waited for comes by far sooner, except on a machine that builds at the same time.
pub(crate) const SOON: Duration = Duration::from_mins(3);

/// How long runners may be silent where nobody has changed that.
pub(crate) const USUAL: Duration = Duration::from_mins(10);
/// Between two looks: they are calls of real servers on a machine that has other things to do.
const PAUSE: Duration = Duration::from_millis(200);

/// Looks until there is something; nothing, if it does not come soon.
pub(crate) async fn soon<T>(mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(SOON, looking).await.ok()
}

/// Ends with this program; tests that hurt nobody have an organization each at it.
static SHARED: OnceCell<(Gitea, Image)> = OnceCell::const_new();

/// A server and the image that fits it.
pub(crate) enum Site {
    /// Everybody's.
    Shared(&'static (Gitea, Image)),
    /// A test's own.
    Own(Box<(Gitea, Image)>),
}

impl Site {
    pub(crate) async fn shared() -> Self {
        Self::Shared(SHARED.get_or_init(|| start(USUAL)).await)
    }

    /// One that gives up jobs whose runners were silent for so long.
    pub(crate) async fn own(silence: Duration) -> Self {
        Self::Own(Box::new(start(silence).await))
    }

    pub(crate) fn gitea(&self) -> &Gitea {
        &self.both().0
    }

    pub(crate) fn image(&self) -> &Image {
        &self.both().1
    }

    fn both(&self) -> &(Gitea, Image) {
        match self {
            Self::Shared(both) => both,
            Self::Own(both) => both,
        }
    }
}

async fn start(silence: Duration) -> (Gitea, Image) {
    let gitea = Gitea::start_secure(silence).await;
    let image = Image::new(&gitea);
    (gitea, image)
}

/// One repository, private as most are, and a directory that its jobs can write to.
pub(crate) struct Forge {
    pub(crate) site: Site,
    pub(crate) organization: String,
    pub(crate) repository: String,
    spot: TempDir,
}

impl Forge {
    pub(crate) async fn new(site: Site, organization: &str) -> Self {
        let repository = site.gitea().repository(organization, "demo", true).await;
        let spot = TempDir::new().unwrap();
        std::fs::set_permissions(spot.path(), PermissionsExt::from_mode(0o777)).unwrap();
        Self { site, organization: organization.to_owned(), repository, spot }
    }

    pub(crate) fn gitea(&self) -> &Gitea {
        self.site.gitea()
    }

    /// A workflow whose jobs write down the home directory that they have, which is their machine's, and then wait.
    pub(crate) fn workflow(&self, on: &str, jobs: &[&str]) -> String {
        let spot = self.spot.path().display();
        let job = |name: &&str| {
            format!(
                "  {name}:\n    runs-on: [{LABEL}]\n    steps:\n      - run: |\n          \
                 echo \"$HOME\" > {spot}/{name}.where\n          \
                 for _ in $(seq 900); do [ -e {spot}/{name}.go ] || [ -e {spot}/all.go ] && exit 0; sleep 0.2; done\n          \
                 exit 1\n"
            )
        };
        let jobs: String = jobs.iter().map(job).collect();
        format!("on: {on}\njobs:\n{jobs}")
    }

    /// Adds a workflow of one job without starting it.
    pub(crate) async fn prepare(&self, job: &str) {
        let text = self.workflow("workflow_dispatch", &[job]);
        self.gitea().workflow(&self.repository, &format!("{job}.yml"), &text).await;
    }

    /// Starts the one job of a workflow; the run.
    pub(crate) async fn start(&self, job: &str) -> u64 {
        self.gitea().dispatch(&self.repository, &format!("{job}.yml")).await
    }

    /// Adds a workflow of one job and starts it; the run.
    pub(crate) async fn queue(&self, job: &str) -> u64 {
        self.prepare(job).await;
        self.start(job).await
    }

    /// Lets a job come to its end; `all` lets all of them.
    pub(crate) fn release(&self, job: &str) {
        std::fs::write(self.spot.path().join(format!("{job}.go")), "").unwrap();
    }

    /// The home directory that a job had, once it has begun.
    pub(crate) fn place_of(&self, job: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.spot.path().join(format!("{job}.where"))).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Forgets where a job ran.
    pub(crate) fn forget(&self, job: &str) {
        for end in ["where", "go"] {
            let _ = std::fs::remove_file(self.spot.path().join(format!("{job}.{end}")));
        }
    }

    pub(crate) async fn begun(&self, job: &str) -> String {
        let place = soon(async || self.place_of(job)).await;
        place.unwrap_or_else(|| panic!("{job} has not begun"))
    }

    /// Every job of the repository as Gitea has it, by name: its status and conclusion.
    pub(crate) async fn jobs(&self) -> BTreeMap<String, Value> {
        let path = format!("/repos/{}/actions/jobs?limit=50", self.repository);
        let list = self.gitea().call(Method::GET, &path, &Value::Null).await;
        let jobs = list["jobs"].as_array().cloned().unwrap_or_default();
        jobs.into_iter().map(|job| (job["name"].as_str().unwrap().to_owned(), job)).collect()
    }

    /// Waits until a job has ended at Gitea; how.
    pub(crate) async fn conclusion(&self, job: &str) -> String {
        let ended = soon(async || {
            let jobs = self.jobs().await;
            let ended = jobs.get(job).filter(|job| job["status"] == "completed")?;
            Some(ended["conclusion"].as_str().unwrap_or_default().to_owned())
        });
        match ended.await {
            Some(conclusion) => conclusion,
            None => panic!("{job} has not ended at Gitea: {:#?}", self.jobs().await),
        }
    }

    /// The names of the runners that Gitea lists.
    pub(crate) async fn runners(&self) -> Vec<String> {
        let path = format!("/orgs/{}/actions/runners", self.organization);
        let list = self.gitea().call(Method::GET, &path, &Value::Null).await;
        let runners = list["runners"].as_array().cloned().unwrap_or_default();
        runners.iter().map(|runner| runner["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
