//! A fleet on hold: nobody acts for it until somebody says so.
//!
//! The mark is on the Secret with the ownership key. Without that key nothing can be taken for ours, and with it comes the
//! mark: whatever brings the one brings the other, also a `kubectl apply`. Every process asks for it, since it must not need
//! more rights than it has, and acts only when it knows the answer. What machines need to live on goes on all the same.
//!
//! Who deletes the key of a fleet that has moved does not end its hold: processes that run have the key in memory, and would
//! destroy what works elsewhere. One that starts later has no key, and knows no machine.

use std::time::Duration;

use api::registry::annotation::HOLD;
use chassis::{Board, Reader, Tasks};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use runtime::{Door, Leadership};
use tokio::time::Instant;

use crate::site::OWNERSHIP;

/// How often it is asked for.
const PERIOD: Duration = Duration::from_secs(1);

/// How long everybody who runs may take to notice: two questions, and what an answer may take.
pub const NOTICED: Duration = Duration::from_secs(4);

/// Whether the fleet is on hold; clones agree.
#[derive(Clone, Debug)]
pub struct Hold(Option<Reader<Door>>);

impl Hold {
    /// A fleet that never is.
    pub const fn never() -> Self {
        Self(None)
    }

    /// Asks for the mark on the key in the namespace `home`, until the tasks stop.
    pub fn spawn(client: &Client, home: &str, tasks: &Tasks) -> Self {
        let door = Board::new(Door::Unknown);
        let hold = Self(Some(door.reader()));
        let secrets: Api<Secret> = Api::namespaced(client.clone(), home);
        let stopping = tasks.stopping();
        tasks.spawn("hold", async move {
            tokio::select! {
                biased;
                () = stopping => {}
                () = follow(&door, &secrets) => {}
            }
        });
        hold
    }

    /// The same leadership, which lasts only while the fleet is not on hold.
    pub fn over(&self, leadership: &Leadership) -> Leadership {
        match &self.0 {
            None => leadership.clone(),
            Some(door) => leadership.behind(door.clone()),
        }
    }

    /// Whether it is, or nobody knows.
    pub fn is_on(&self) -> bool {
        self.0.as_ref().is_some_and(|door| !door.get().is_open())
    }

    /// Resolves as soon as somebody has said whether it is.
    pub async fn known(&self) {
        let Some(door) = &self.0 else { return };
        if door.clone().wait_for(|door| *door != Door::Unknown).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Resolves each time a hold has ended that we were there for: what it brought may differ from what we know.
    pub async fn ended(&mut self) {
        let Some(door) = &mut self.0 else { return std::future::pending().await };
        loop {
            if door.changed().await.is_err() {
                return std::future::pending().await;
            }
            match door.get() {
                Door::OpenSince(_) => return,
                Door::Unknown | Door::Shut | Door::Open => {}
            }
        }
    }
}

/// How the key was found.
enum Sight {
    /// With the mark, for this reason.
    Held(String),
    /// Without it.
    Free,
    /// Not at all.
    Gone,
}

impl Sight {
    fn of(found: Option<&Secret>) -> Self {
        let Some(secret) = found else { return Self::Gone };
        secret.annotations().get(HOLD).map_or(Self::Free, |why| Self::Held(why.clone()))
    }
}

/// What was told of a hold.
#[derive(Default)]
struct Told {
    began: bool,
    /// That its key is gone.
    gone: bool,
}

async fn follow(door: &Board<Door>, secrets: &Api<Secret>) {
    let mut told = Told::default();
    loop {
        match secrets.get_opt(OWNERSHIP).await {
            Ok(found) => turn(door, Sight::of(found.as_ref()), &mut told),
            // Whoever may not read the key cannot act with it, and has nothing to hold back.
            Err(kube::Error::Api(status)) if status.code == 403 && !told.began => turn(door, Sight::Free, &mut told),
            // Before the first answer, nobody may act; later, what was true a moment ago still is.
            Err(error) => tracing::debug!(%error, "whether the fleet is on hold cannot be told"),
        }
        tokio::time::sleep(PERIOD).await;
    }
}

fn shut(door: &Board<Door>) -> bool {
    door.change_if(|door| std::mem::replace(door, Door::Shut) != Door::Shut)
}

fn turn(door: &Board<Door>, key: Sight, told: &mut Told) {
    match key {
        Sight::Held(why) => {
            if shut(door) || !told.began {
                tracing::warn!(
                    why,
                    "this fleet is on hold: no machine is made, changed or destroyed. If it is being moved here, complete that \
                     with `hyperfleet import`; if the move is called off, say `hyperfleet export --thaw`"
                );
            }
            *told = Told { began: true, gone: false };
        }
        Sight::Gone if door.get() == Door::Shut => {
            if !std::mem::replace(&mut told.gone, true) {
                tracing::warn!(
                    "Secret {OWNERSHIP} was deleted while this fleet was on hold, and it stays on hold: if the fleet has moved, \
                     stop this operator; if it has not, restore the Secret from a backup"
                );
            }
        }
        Sight::Gone | Sight::Free => open(door, told),
    }
}

fn open(door: &Board<Door>, told: &Told) {
    let opened = if told.began { Door::OpenSince(Instant::now()) } else { Door::Open };
    if door.change_if(|door| !door.is_open() && !std::mem::replace(door, opened).is_open()) && told.began {
        tracing::info!("this fleet is not on hold any more");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_has_waited_for_a_hold_to_end_knows_that_others_may_have_acted() {
        let (door, mut told) = (Board::new(Door::Unknown), Told::default());
        let hold = Hold(Some(door.reader()));
        assert!(hold.is_on(), "nobody knows yet");
        assert!(tokio::time::timeout(PERIOD, hold.known()).await.is_err());
        turn(&door, Sight::Free, &mut told);
        assert_eq!(door.get(), Door::Open);
        hold.known().await;
        turn(&door, Sight::Held("export 1".into()), &mut told);
        assert!(hold.is_on());
        turn(&door, Sight::Free, &mut told);
        assert_eq!(door.get(), Door::OpenSince(Instant::now()));
        assert!(!hold.is_on() && !Hold::never().is_on());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_gone_does_not_end_its_hold() {
        let (door, mut told) = (Board::new(Door::Unknown), Told::default());
        turn(&door, Sight::Gone, &mut told);
        assert_eq!(door.get(), Door::Open, "a new installation makes its key");
        turn(&door, Sight::Held("export 1".into()), &mut told);
        for _ in 0..3 {
            turn(&door, Sight::Gone, &mut told);
            assert_eq!(door.get(), Door::Shut);
        }
        turn(&door, Sight::Held("export 1".into()), &mut told);
        assert_eq!(door.get(), Door::Shut);
        turn(&door, Sight::Free, &mut told);
        assert_eq!(door.get(), Door::OpenSince(Instant::now()), "it is back, without its mark");
    }
}
