//! The life of a VM as a caller drives it: every step begins with a look, and is repeated by the class of its error.

use std::time::Duration;

use providers::hypervisor::proxmox::Proxmox;
use providers::hypervisor::{
    CloneMode, CloneOrder, Error, Gib, Hypervisor, Image, Mib, Network, NoCloud, Object, Power, PowerAction, Seed,
    Seen, Shape, Tag, TaskRef, TaskState, VmId, VmRef, VolumeId,
};
use reconcile::Class;
use tokio::time::Instant;

use crate::world::{Piece, World};

const POLL: Duration = Duration::from_secs(1);
/// After this long a caller tells a person.
const PATIENCE: Duration = Duration::from_mins(15);
/// What a step that does not pass by itself is asked at most in that time: pauses double up to five minutes.
pub(crate) const HOT: usize = 14;
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Where the machines' disks are.
pub(crate) const DISKS: &str = "disks";

impl Piece {
    /// The image for a node: disks that are not shared need one on each.
    pub(crate) fn image(&self) -> VmRef {
        let id = match self.vm.node.as_str() {
            "pve2" => 9_001,
            "pve3" => 9_002,
            _ => 9_000,
        };
        VmRef { id: VmId::try_from(id).unwrap(), node: self.vm.node.clone() }
    }

    pub(crate) fn order<'a>(&self, image: &'a Image) -> CloneOrder<'a> {
        CloneOrder {
            image,
            id: self.vm.id,
            node: self.vm.node.clone(),
            name: format!("runner-{}", self.vm.id).parse().unwrap(),
            allocation: self.allocation.clone(),
            note: "made by a test".to_owned(),
            mode: CloneMode::LinkedOrFull(None),
            pool: Some("hf".parse().unwrap()),
        }
    }
}

impl World {
    /// What a machine should be like; without rights beyond a pool it has no seed image.
    pub(crate) fn shape(&self, piece: &Piece) -> Shape {
        let bridge = if self.lesser { "vmbr0" } else { "vmbr1" };
        let seed = if self.lesser {
            Seed::Smbios { url: format!("https://192.0.2.1/{}/", piece.allocation).into() }
        } else {
            Seed::Iso
        };
        Shape {
            cores: Some(4),
            memory: Some(Mib(4_096)),
            network: Some(Network { bridge: bridge.parse().unwrap(), vlan: None }),
            tags: [Tag::ours()].into(),
            agent: Some(true),
            tpm: Some(DISKS.parse().unwrap()),
            uefi: Some(DISKS.parse().unwrap()),
            seed: Some(seed),
            uuid: None,
            letter: None,
        }
    }

    /// The end of a task: its warnings, or its error.
    pub(crate) async fn end(&self, task: &TaskRef) -> Result<u32, Error> {
        self.end_with(&self.proxmox, task).await
    }

    async fn end_with(&self, proxmox: &Proxmox, task: &TaskRef) -> Result<u32, Error> {
        loop {
            match proxmox.task(task).await? {
                TaskState::Running => tokio::time::sleep(POLL).await,
                TaskState::Done { warnings } => return Ok(warnings),
                TaskState::Failed(error) => return Err(error),
                TaskState::Lost => {
                    let (object, detail) = (Object::Task(task.to_string()), "its end is not known".to_owned());
                    return Err(Error::UnknownOutcome { object, detail });
                }
            }
        }
    }

    /// Begins one clone.
    pub(crate) async fn begin(&self, piece: &Piece) -> Result<TaskRef, Error> {
        let image = self.proxmox.inspect(&piece.image()).await?;
        self.proxmox.clone_image(&piece.order(&image)).await
    }

    /// One clone to its end, tried once.
    pub(crate) async fn clone_once(&self, piece: &Piece) -> Result<Seen, Error> {
        self.clone_with(&self.proxmox, piece).await
    }

    pub(crate) async fn clone_with(&self, proxmox: &Proxmox, piece: &Piece) -> Result<Seen, Error> {
        let image = proxmox.inspect(&piece.image()).await?;
        let task = proxmox.clone_image(&piece.order(&image)).await?;
        self.end_with(proxmox, &task).await?;
        proxmox.look(&piece.vm, piece.whose()).await
    }

    /// A look at the VM wherever it is now.
    pub(crate) async fn look(&self, piece: &Piece) -> Result<Seen, Error> {
        match self.proxmox.look(&piece.vm, piece.whose()).await {
            Err(moved @ Error::Moved { .. }) => {
                let inventory = self.proxmox.inventory().await?;
                let row = inventory.vms.iter().find(|row| row.vm.id == piece.vm.id).ok_or(moved)?;
                self.proxmox.look(&row.vm, piece.whose()).await
            }
            seen => seen,
        }
    }

    /// One change on a fresh look, to its end, tried once.
    pub(crate) async fn change_once<S>(&self, piece: &Piece, step: S) -> Result<u32, Error>
    where
        S: AsyncFn(&Seen) -> Result<Option<TaskRef>, Error>,
    {
        let seen = self.look(piece).await?;
        match step(&seen).await? {
            Some(task) => self.end(&task).await,
            None => Ok(0),
        }
    }

    /// Repeats what may pass: at once after a conflict, with growing pauses otherwise, and not at all what was refused.
    pub(crate) async fn patiently<T>(&self, step: impl AsyncFn() -> Result<T, Error>) -> Result<T, Error> {
        let (deadline, mut pause) = (Instant::now() + PATIENCE, POLL);
        loop {
            let error = match step().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            self.hear(&error);
            let wait = match error.class() {
                Class::Refused => return Err(error),
                Class::Conflict => POLL / 10,
                Class::Throttled(wait) => wait,
                Class::Unavailable => pause,
            };
            if error.class() == Class::Unavailable {
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            if Instant::now() > deadline {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
        }
    }

    pub(crate) async fn change<S>(&self, piece: &Piece, step: S) -> Result<u32, Error>
    where
        S: AsyncFn(&Seen) -> Result<Option<TaskRef>, Error>,
    {
        self.patiently(async || self.change_once(piece, &step).await).await
    }

    /// The VM, made if it is not there: whoever does not know whether it is looks first.
    pub(crate) async fn cloned(&self, piece: &Piece) -> Result<Seen, Error> {
        self.patiently(async || match self.look(piece).await {
            Ok(seen) => match &seen.facts().lock {
                Some(kind) => Err(Error::Locked { object: Object::Vm(piece.vm.id), kind: kind.clone() }),
                None => Ok(seen),
            },
            Err(Error::NotFound { .. }) => self.clone_once(piece).await,
            Err(error) => Err(error),
        })
        .await
    }

    /// Gives a VM its size, seed and settings.
    pub(crate) async fn prepare(&self, piece: &Piece) -> Result<(), Error> {
        self.change(piece, async |seen| self.proxmox.resize(seen, Gib(10)).await).await?;
        if !self.lesser {
            self.patiently(async || self.stage(piece).await).await?;
        }
        let shape = self.shape(piece);
        self.change(piece, async |seen| self.proxmox.configure(seen, &shape).await.map(|()| None)).await?;
        Ok(())
    }

    pub(crate) async fn stage(&self, piece: &Piece) -> Result<(), Error> {
        let files = NoCloud {
            user_data: "#cloud-config\n{}\n".into(),
            meta_data: format!("instance-id: {}\n", piece.allocation),
            network_config: None,
            agent: None,
        };
        match self.proxmox.stage_seed(&piece.vm, &piece.allocation, &files).await? {
            Some(task) => self.end(&task).await.map(drop),
            None => Ok(()),
        }
    }

    /// A VM that runs, by whatever it takes.
    pub(crate) async fn started(&self, piece: &Piece) -> Result<(), Error> {
        self.patiently(async || {
            let seen = self.look(piece).await?;
            if self.proxmox.power_state(seen.vm()).await? == Power::Running {
                return Ok(());
            }
            let task = self.proxmox.power(&seen, PowerAction::Start).await?;
            self.end(&task).await.map(drop)
        })
        .await
    }

    /// The whole way from nothing to a VM that runs.
    pub(crate) async fn make(&self, piece: &Piece) -> Result<Seen, Error> {
        self.cloned(piece).await?;
        self.prepare(piece).await?;
        self.started(piece).await?;
        self.patiently(async || self.look(piece).await).await
    }

    /// The whole way back, from whatever is there; the disks that the removal itself left behind.
    pub(crate) async fn remove(&self, piece: &Piece) -> Result<Vec<VolumeId>, Error> {
        self.patiently(async || self.removed(piece).await).await?;
        self.sweep(piece).await
    }

    async fn removed(&self, piece: &Piece) -> Result<(), Error> {
        let seen = match self.look(piece).await {
            Err(Error::NotFound { .. }) => return Ok(()),
            seen => seen?,
        };
        if self.proxmox.power_state(seen.vm()).await? != Power::Stopped {
            let task = self.proxmox.power(&seen, PowerAction::Stop).await?;
            self.end(&task).await?;
        }
        let begun = match self.proxmox.destroy(&seen).await {
            Err(Error::Protected { .. }) => {
                self.proxmox.configure(&seen, &Shape::default()).await?;
                self.proxmox.destroy(&seen).await
            }
            begun => begun,
        };
        self.end(&begun?).await?;
        // Done is what the next look cannot find any more.
        match self.look(piece).await {
            Err(Error::NotFound { .. }) => Ok(()),
            Ok(seen) => Err(Error::Stale { object: Object::Vm(seen.vm().id) }),
            Err(error) => Err(error),
        }
    }

    /// Disks and seed image of a VM that is gone, wherever it was last.
    pub(crate) async fn sweep(&self, piece: &Piece) -> Result<Vec<VolumeId>, Error> {
        let storages = [DISKS.parse().unwrap()];
        let left = self.patiently(async || self.proxmox.leftovers(&piece.vm, &storages).await).await?;
        for volume in &left {
            self.finished(async || self.proxmox.remove_leftover(&piece.vm, volume).await).await?;
        }
        if !self.lesser {
            self.finished(async || self.proxmox.discard_seed(&piece.vm, &piece.allocation).await).await?;
        }
        Ok(left)
    }

    async fn finished(&self, step: impl AsyncFn() -> Result<Option<TaskRef>, Error>) -> Result<(), Error> {
        self.patiently(async || match step().await? {
            Some(task) => self.end(&task).await.map(drop),
            None => Ok(()),
        })
        .await
    }
}
