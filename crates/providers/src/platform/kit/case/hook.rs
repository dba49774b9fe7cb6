//! What the platform sends us.

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderMap, HeaderValue};
use bytes::Bytes;
use secrecy::SecretString;

use super::super::bench::{Bench, Delivery, Trouble};
use super::super::workshop::{Failure, Workshop, ensure, requires};
use crate::platform::{Hint, Job, JobState, Platform, Rejected};

type Seen = Result<String, Failure>;

/// Queues a job and gives what the platform sent because of it.
async fn told<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Result<Vec<Delivery>, Failure> {
    requires(shop.platform.capabilities().webhooks, "webhooks")?;
    shop.bench.deliveries().await?;
    shop.bench.queue(&shop.platform.offered(&shop.bench.pool())).await?;
    let deliveries = shop.bench.deliveries().await?;
    ensure(!deliveries.is_empty(), "the platform tells of a queued job")?;
    Ok(deliveries)
}

fn jobs<P: Platform>(platform: &P, deliveries: &[Delivery], secret: &SecretString) -> Result<Vec<Job>, Failure> {
    let mut jobs = Vec::new();
    for Delivery { headers, body } in deliveries {
        let verified = platform.verify(headers, body, std::slice::from_ref(secret));
        let verified = verified.map_err(|why| Failure::Unmet(format!("a delivery is believed: {why:?}")))?;
        for hint in platform.parse(&verified) {
            match hint {
                Hint::Job(job) => jobs.push(*job),
                Hint::Look | Hint::Ignored(_) => {}
                Hint::Unreadable => return Err(Failure::Unmet("a delivery can be read".to_owned())),
            }
        }
    }
    Ok(jobs)
}

pub(super) async fn signature<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let deliveries = told(shop).await?;
    let (secret, other) = (shop.bench.secret(), SecretString::from("another secret"));
    jobs(shop.platform, &deliveries, &secret)?;
    let Some(Delivery { headers, body }) = deliveries.into_iter().next() else { return Ok("nothing was sent".into()) };
    let verdict = |headers: &HeaderMap, body: &Bytes, secrets: &[SecretString]| {
        shop.platform.verify(headers, body, secrets).err()
    };
    let renewed = verdict(&headers, &body, &[other.clone(), secret.clone()]);
    ensure(renewed.is_none(), "either of two secrets may have signed")?;
    let rejected = |verdict: Option<Rejected>, wanted: Rejected, what: &str| {
        ensure(verdict == Some(wanted), format!("{what} is {wanted:?}: {verdict:?}"))
    };
    rejected(verdict(&headers, &body, &[other]), Rejected::Forged, "what another secret signed")?;
    rejected(verdict(&headers, &body, &[]), Rejected::NoSecret, "anything without a secret to compare with")?;
    rejected(verdict(&headers, &body, &[SecretString::from("")]), Rejected::NoSecret, "an empty secret")?;
    let secrets = [secret];
    for bit in 0..8 {
        let mut changed = body.to_vec();
        let at = changed.len() * bit / 8;
        changed[at] ^= 1 << bit;
        rejected(verdict(&headers, &Bytes::from(changed), &secrets), Rejected::Forged, "one bit off")?;
    }
    rejected(verdict(&headers, &Bytes::new(), &secrets), Rejected::Forged, "an empty body")?;
    let mut form = headers.clone();
    form.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    rejected(verdict(&form, &body, &secrets), Rejected::WrongType, "a form")?;
    let mut unsigned = headers.clone();
    let signatures: Vec<_> = unsigned.keys().filter(|name| name.as_str().contains("signature")).cloned().collect();
    for name in signatures {
        unsigned.remove(name);
    }
    rejected(verdict(&unsigned, &body, &secrets), Rejected::Unsigned, "what is not signed")?;
    Ok("believed as it is, rejected in every other form".to_owned())
}

pub(super) async fn one_key<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    let deliveries = told(shop).await?;
    let told = jobs(shop.platform, &deliveries, &shop.bench.secret())?;
    let polled = shop.only_job(|state| *state == JobState::Queued).await?;
    ensure(!told.is_empty(), "a delivery tells of the job")?;
    for job in &told {
        ensure(job.key == polled.key, format!("the hook's {} is the poll's {}", job.key, polled.key))?;
    }
    let asked = shop.platform.job(&polled.key).await?;
    ensure(asked.as_ref().is_some_and(|job| job.key == polled.key), format!("so it is when asked for: {asked:?}"))?;
    let last = told.into_iter().max_by_key(|job| job.state);
    let same = last.is_some_and(|job| job.state == polled.state && sorted(job.labels) == sorted(polled.labels));
    ensure(same, "state and labels are the same on every way")?;
    Ok(polled.key.to_string())
}

fn sorted(mut labels: Vec<String>) -> Vec<String> {
    labels.sort();
    labels
}

pub(super) async fn recovery<P: Platform, B: Bench>(shop: &Workshop<'_, P, B>) -> Seen {
    requires(shop.platform.capabilities().recovers, "memory of what it failed to deliver")?;
    shop.bench.deliveries().await?;
    let since = shop.bench.now();
    shop.bench.arrange(Trouble::FailingDeliveries).await?;
    shop.bench.queue(&shop.platform.offered(&shop.bench.pool())).await?;
    let arrived = shop.bench.deliveries().await?;
    ensure(arrived.is_empty(), "nothing arrives")?;
    let polled = shop.only_job(|state| *state == JobState::Queued).await?;
    let hints = shop.platform.recover(since).await?;
    let found = hints.iter().any(|hint| matches!(hint, Hint::Job(job) if job.key == polled.key) || *hint == Hint::Look);
    ensure(found, format!("the job is among what was not delivered: {hints:?}"))?;
    Ok(format!("{} recovered", hints.len()))
}
