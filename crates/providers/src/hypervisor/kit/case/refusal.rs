//! What must not happen.

use super::super::faults::Faults;
use super::super::workshop::{Failure, Workshop, ensure, patiently};
use crate::hypervisor::{AllocationId, Error, Hypervisor, Mark, Shape, Tag, Whose};

pub(super) async fn stale<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, seen) = shop.make().await?;
    let tagged = |name: &str| Shape { tags: [Tag::named("kit", name)].into(), ..Shape::default() };
    let first = tagged("first");
    shop.change(&piece, async |fresh| shop.hypervisor.configure(fresh, &first).await.map(|()| None)).await?;
    let second = tagged("second");
    match patiently(shop.bench, || shop.hypervisor.configure(&seen, &second)).await {
        Err(Failure::Hypervisor(Error::Stale { .. })) => {}
        other => return Err(Failure::Unmet(format!("a change on an old look must be refused, but: {other:?}"))),
    }
    let tags = shop.look(&piece).await?.facts().tags.clone();
    ensure(!tags.contains(&Tag::named("kit", "second")), "a refused change must change nothing")?;
    Ok("the second change on one look was refused".into())
}

pub(super) async fn unknown<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let piece = shop.plan()?;
    let looked = patiently(shop.bench, || shop.hypervisor.look(&piece.vm, piece.whose())).await.map(drop);
    let power = patiently(shop.bench, || shop.hypervisor.power_state(&piece.vm)).await.map(drop);
    for answer in [looked, power] {
        match answer {
            Err(Failure::Hypervisor(Error::NotFound { .. })) => {}
            other => return Err(Failure::Unmet(format!("a free number must be said to be free, but: {other:?}"))),
        }
    }
    Ok(format!("{} is certain not to exist", piece.vm))
}

pub(super) async fn foreign<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    match patiently(shop.bench, || shop.hypervisor.look(&shop.bench.image, Whose::AnyOfOurs)).await {
        Err(Failure::Hypervisor(Error::Foreign { mark, .. })) => Ok(format!("the image is left alone: {mark}")),
        other => Err(Failure::Unmet(format!("the image is not ours, but the look said: {other:?}"))),
    }
}

pub(super) async fn other_allocation<H: Hypervisor, F: Faults>(shop: &Workshop<'_, H, F>) -> Result<String, Failure> {
    let (piece, _) = shop.make().await?;
    let other: AllocationId =
        "kit-somebody-else".parse().map_err(|_| Failure::Unmet("a plain id must be valid".into()))?;
    match patiently(shop.bench, || shop.hypervisor.look(&piece.vm, Whose::Allocation(&other))).await {
        Err(Failure::Hypervisor(Error::Foreign { mark: Mark::OtherAllocation(actual), .. }))
            if actual == piece.allocation =>
        {
            Ok("our own VM of another allocation is left alone".into())
        }
        other => Err(Failure::Unmet(format!("it belongs to another allocation, but the look said: {other:?}"))),
    }
}
