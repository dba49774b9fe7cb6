//! What a VM goes through from its first moment to its last.

use secrecy::SecretString;

use super::super::bench::{SeedKind, larger};
use super::super::faults::Faults;
use super::super::workshop::{Failure, Piece, Workshop, ensure, patiently};
use crate::hypervisor::{
    Bytes, Error, Gib, Hypervisor, Media, Missing, Native, NoCloud, Object, Power, PowerAction, Seed, Seen, Shape, Tag,
};

pub(super) async fn health<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let health = patiently(shop.bench, || shop.hypervisor.health()).await?;
    ensure(!health.version.is_empty() && !health.identity.is_empty(), "a version and an identity were expected")?;
    let needs = shop.bench.needs(shop.storages().iter().cloned());
    let missing = patiently(shop.bench, || shop.hypervisor.permissions(&needs)).await?;
    let required: Vec<String> = missing.iter().filter(|one| one.required).map(ToString::to_string).collect();
    ensure(required.is_empty(), format!("privileges are missing: {}", required.join("; ")))?;
    let lacks = |one: &Missing| {
        let privileges: Vec<&str> = one.privileges.iter().map(String::as_str).collect();
        format!("; better with {} on {}", privileges.join(", "), one.path)
    };
    let advice: Vec<String> = missing.iter().map(lacks).collect();
    Ok(format!("version {}, as {}{}", health.version, health.identity, advice.concat()))
}

pub(super) async fn image<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    shop.image.check()?;
    let images = patiently(shop.bench, || shop.hypervisor.images()).await?;
    ensure(images.iter().any(|row| row.image == shop.bench.image), "the image was expected among the images")?;
    ensure(shop.image.nodes.contains(&shop.bench.node), format!("the image cannot be cloned on {}", shop.bench.node))?;
    let kind = if shop.image.linkable { "linked" } else { "full" };
    let size = shop.image.disk.map(|size| format!(", its disk has {size}")).unwrap_or_default();
    Ok(format!("it takes {kind} clones{size}"))
}

pub(super) async fn full<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, first) = shop.make().await?;
    grow(shop, &piece).await?;
    let shape = Shape { seed: Some(stage(shop, &piece).await?), ..shop.bench.shape.clone() };
    shop.change(&piece, async |seen| shop.hypervisor.configure(seen, &shape).await.map(|()| None)).await?;
    let configured = shop.look(&piece).await?;
    ensure(configured.facts().mac == first.facts().mac, "the hardware address must survive the configuration")?;
    expect_seeded(shop, &first, &configured, true)?;
    power(shop, &piece, PowerAction::Start, Power::Running).await?;
    power(shop, &piece, PowerAction::Stop, Power::Stopped).await?;
    remove(shop, &piece).await?;
    let left = shop.disks(&piece).await?;
    ensure(left.is_empty(), format!("these disks were left behind: {left:?}"))?;
    Ok(format!("{} was made, seeded, started, stopped and removed", piece.vm))
}

pub(super) async fn power_states<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, _) = shop.make().await?;
    for (action, state) in [
        (PowerAction::Start, Power::Running),
        (PowerAction::Start, Power::Running),
        (PowerAction::Stop, Power::Stopped),
        (PowerAction::Stop, Power::Stopped),
    ] {
        power(shop, &piece, action, state).await?;
    }
    Ok("started twice and stopped twice, with no harm".into())
}

pub(super) async fn resize<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, _) = shop.make().await?;
    let (from, to) = grow(shop, &piece).await?;
    let seen = shop.look(&piece).await?;
    let again = patiently(shop.bench, || shop.hypervisor.resize(&seen, to)).await?;
    ensure(again.is_none(), "growing to the size it has must do nothing")?;
    let smaller = Gib(to.0.saturating_sub(1));
    match patiently(shop.bench, || shop.hypervisor.resize(&seen, smaller)).await {
        Err(Failure::Hypervisor(Error::Invalid { .. } | Error::Unsupported { .. })) => {}
        other => return Err(Failure::Unmet(format!("shrinking must be refused, but: {other:?}"))),
    }
    Ok(format!("grew from {from} to {}, and would not shrink", Bytes::from(to)))
}

pub(super) async fn tags<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, first) = shop.make().await?;
    for tag in [Tag::ours(), Tag::named("pool", "kit")] {
        let shape = Shape { tags: [tag].into(), ..Shape::default() };
        shop.change(&piece, async |seen| shop.hypervisor.configure(seen, &shape).await.map(|()| None)).await?;
    }
    let tags = shop.look(&piece).await?.facts().tags.clone();
    ensure(
        tags.contains(&Tag::ours()) && tags.contains(&Tag::named("pool", "kit")),
        format!("both tags were expected: {tags:?}"),
    )?;
    ensure(first.facts().tags.is_subset(&tags), "tags that were there must be kept")?;
    let all: Vec<&str> = tags.iter().map(Tag::as_str).collect();
    Ok(format!("tagged {}", all.join(", ")))
}

pub(super) async fn seed<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, first) = shop.make().await?;
    let shape = Shape { seed: Some(stage(shop, &piece).await?), ..Shape::default() };
    for _ in 0..2 {
        shop.change(&piece, async |seen| shop.hypervisor.configure(seen, &shape).await.map(|()| None)).await?;
        expect_seeded(shop, &first, &shop.look(&piece).await?, true)?;
    }
    shop.change(&piece, async |seen| shop.hypervisor.detach_seed(seen).await.map(|()| None)).await?;
    expect_seeded(shop, &first, &shop.look(&piece).await?, false)?;
    if shop.bench.seed == SeedKind::Iso {
        for _ in 0..2 {
            let discarded = || shop.hypervisor.discard_seed(&piece.vm, &piece.allocation);
            if let Some(task) = patiently(shop.bench, discarded).await? {
                shop.end(&task).await?;
            }
        }
    }
    Ok(format!("a seed was attached {}, taken away and thrown away", shop.bench.seed))
}

pub(super) async fn deleted_twice<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, seen) = shop.make().await?;
    remove(shop, &piece).await?;
    match patiently(shop.bench, || shop.hypervisor.destroy(&seen)).await {
        Err(Failure::Hypervisor(Error::NotFound { object: Object::Vm(id) })) if id == piece.vm.id => {}
        Ok(task) => match shop.end(&task).await {
            Err(Failure::Hypervisor(Error::NotFound { .. })) => {}
            other => return Err(Failure::Unmet(format!("the second removal must find nothing, but: {other:?}"))),
        },
        Err(other) => return Err(Failure::Unmet(format!("the second removal must find nothing, but: {other}"))),
    }
    Ok(format!("the second removal of {} found nothing", piece.vm))
}

pub(super) async fn leftovers<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, seen) = shop.make().await?;
    let disks = shop.disks(&piece).await?;
    ensure(!disks.is_empty(), "the disks of a VM that is there must be listed")?;
    ensure(!seen.storages().is_empty(), "a VM must say which storages its disks are on")?;
    match patiently(shop.bench, || shop.hypervisor.remove_leftover(&piece.vm, &disks[0])).await {
        Err(Failure::Hypervisor(Error::AlreadyExists { .. })) => {}
        other => return Err(Failure::Unmet(format!("disks of a VM that is there must stay, but: {other:?}"))),
    }
    remove(shop, &piece).await?;
    let left = shop.disks(&piece).await?;
    ensure(left.is_empty(), format!("these disks were left behind: {left:?}"))?;
    Ok(format!("{} disks were there before and none after", disks.len()))
}

/// Removes a stopped VM and makes sure that it is gone.
pub(super) async fn remove<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>, piece: &Piece) -> Result<u32, Failure> {
    let unprotected = Shape::default();
    shop.change(piece, async |seen| shop.hypervisor.configure(seen, &unprotected).await.map(|()| None)).await?;
    let removed = shop.change(piece, async |seen| shop.hypervisor.destroy(seen).await.map(Some)).await;
    let warnings = match removed {
        Ok(warnings) => warnings,
        // A try whose end was not seen has done it.
        Err(Failure::Hypervisor(Error::NotFound { .. })) => 0,
        Err(other) => return Err(other),
    };
    match shop.look(piece).await {
        Err(Failure::Hypervisor(Error::NotFound { .. })) => Ok(warnings),
        Ok(_) => Err(Failure::Unmet(format!("{} is still there after its removal", piece.vm))),
        Err(other) => Err(other),
    }
}

/// Puts the seed where it belongs and says how the VM finds it.
async fn stage<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>, piece: &Piece) -> Result<Seed, Failure> {
    Ok(match shop.bench.seed {
        SeedKind::Iso => {
            let files = NoCloud {
                user_data: SecretString::from("#cloud-config\n{}\n"),
                meta_data: format!("instance-id: {}\n", piece.allocation),
                network_config: None,
                agent: None,
            };
            let task =
                patiently(shop.bench, || shop.hypervisor.stage_seed(&piece.vm, &piece.allocation, &files)).await?;
            if let Some(task) = task {
                shop.end(&task).await?;
            }
            Seed::Iso
        }
        SeedKind::Smbios => Seed::Smbios { url: format!("http://192.0.2.1/{}/", piece.allocation).into() },
        SeedKind::Native => Seed::Native(Native { user: Some("hyperfleet".into()), ..Native::default() }),
    })
}

/// Whether the VM has exactly the seed it should have, beside the CD drives its image has.
fn expect_seeded<H: Hypervisor, F: Faults>(
    shop: &Workshop<'_, H, F>,
    before: &Seen,
    now: &Seen,
    seeded: bool,
) -> Result<(), Failure> {
    let count = |seen: &Seen, media: Media| {
        seen.facts().drives.iter().filter(|drive| drive.media == media && drive.volume.is_some()).count()
    };
    let added = count(now, Media::Cdrom).checked_sub(count(before, Media::Cdrom));
    let native = count(now, Media::CloudInit);
    let holds = match shop.bench.seed {
        SeedKind::Iso => added == Some(usize::from(seeded)) && native == 0,
        SeedKind::Smbios => added == Some(0) && native == 0,
        SeedKind::Native => native == 1,
    };
    let drives = &now.facts().drives;
    ensure(holds, format!("expected exactly one seed while attached and none of ours after: {drives:?}"))
}

/// Changes a VM's power and waits until it shows.
async fn power<H: Hypervisor, F: Faults>(
    shop: &Workshop<'_, H, F>,
    piece: &Piece,
    action: PowerAction,
    state: Power,
) -> Result<(), Failure> {
    shop.change(piece, async |seen| shop.hypervisor.power(seen, action).await.map(Some)).await?;
    let now = patiently(shop.bench, || shop.hypervisor.power_state(&piece.vm)).await?;
    ensure(now == state, format!("after {action:?} it must be {state}, but it is {now}"))
}

/// Grows the boot disk to the next whole GiB.
async fn grow<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>, piece: &Piece) -> Result<(Bytes, Gib), Failure> {
    let size = |seen: &Seen| seen.facts().drives.iter().find(|drive| drive.boots).and_then(|drive| drive.size);
    let no_disk = || Failure::Unmet("a VM must have a boot disk of known size".into());
    let from = size(&shop.look(piece).await?).ok_or_else(no_disk)?;
    let to = larger(from);
    shop.change(piece, async |seen| shop.hypervisor.resize(seen, to).await).await?;
    let after = size(&shop.look(piece).await?).ok_or_else(no_disk)?;
    ensure(after == Bytes::from(to), format!("the disk must have {}, but has {after}", Bytes::from(to)))?;
    Ok((from, to))
}
