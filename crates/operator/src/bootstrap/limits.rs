//! How often somebody may ask.
//!
//! Limits are for those who have nothing to show: strangers are counted by where they call from and by the machine they
//! call about. Whoever shows the right token or a bound key is counted by his own key, so that no stranger can use up what a
//! machine needs to live. The tables are bounded; what was not used for longest is forgotten first.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api::Digest;
use chassis::Clock;
use reconcile::Bucket;

/// Entries of each table.
const ENTRIES: usize = 16_384;

/// What happens at most so often.
pub(super) struct Limits {
    clock: Clock,
    sources: Mutex<Table<IpAddr>>,
    records: Mutex<Table<String>>,
    keys: Mutex<Table<Digest>>,
    beacons: Mutex<Table<String>>,
    warnings: Mutex<Table<String>>,
    looks: Mutex<Table<String>>,
    lists: Mutex<Table<()>>,
}

impl Limits {
    /// The service's limits.
    pub(super) fn new(clock: Clock) -> Self {
        let every = |seconds: f64| 1.0 / seconds;
        Self {
            clock,
            sources: Table::new(5.0, 20),
            records: Table::new(every(6.0), 10),
            keys: Table::new(5.0, 20),
            beacons: Table::new(every(30.0), 1),
            warnings: Table::new(every(60.0), 1),
            looks: Table::new(every(5.0), 1),
            lists: Table::new(every(10.0), 1),
        }
    }

    /// A stranger asks something.
    pub(super) fn source(&self, address: IpAddr) -> Result<(), Duration> {
        self.take(&self.sources, &network(address))
    }

    /// A stranger asks something about this claim's machine.
    pub(super) fn record(&self, uid: &str) -> Result<(), Duration> {
        self.take(&self.records, &uid.to_owned())
    }

    /// The holder of this key asks something.
    pub(super) fn key(&self, key: &Digest) -> Result<(), Duration> {
        self.take(&self.keys, key)
    }

    /// Whether what a machine complains of may be written down now.
    pub(super) fn may_complain(&self, uid: &str) -> bool {
        self.take(&self.beacons, &uid.to_owned()).is_ok()
    }

    /// Whether people may be warned about a claim now.
    pub(super) fn may_warn(&self, uid: &str) -> bool {
        self.take(&self.warnings, &uid.to_owned()).is_ok()
    }

    /// Whether a claim may be read again now.
    pub(super) fn may_look(&self, uid: &str) -> bool {
        self.take(&self.looks, &uid.to_owned()).is_ok()
    }

    /// Whether all claims may be read again now.
    pub(super) fn may_list(&self) -> bool {
        self.take(&self.lists, &()).is_ok()
    }

    fn take<K: Clone + Eq + Hash>(&self, table: &Mutex<Table<K>>, key: &K) -> Result<(), Duration> {
        let now = self.clock.now();
        table.lock().unwrap_or_else(PoisonError::into_inner).take(key, now)
    }

    /// Entries of the largest table.
    #[cfg(test)]
    fn largest(&self) -> usize {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner).buckets.len();
        sources.max(self.records.lock().unwrap_or_else(PoisonError::into_inner).buckets.len())
    }
}

/// Who owns an address owns many: of IPv6 all that share their first half.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

/// Buckets by key, as many as fit.
struct Table<K> {
    rate: f64,
    burst: u32,
    buckets: HashMap<K, (Bucket, u64)>,
    /// Keys by their last use.
    uses: BTreeMap<u64, K>,
    counter: u64,
}

impl<K: Clone + Eq + Hash> Table<K> {
    fn new(rate: f64, burst: u32) -> Mutex<Self> {
        Mutex::new(Self { rate, burst, buckets: HashMap::new(), uses: BTreeMap::new(), counter: 0 })
    }

    fn take(&mut self, key: &K, now: jiff::Timestamp) -> Result<(), Duration> {
        self.counter += 1;
        if self.buckets.len() >= ENTRIES
            && !self.buckets.contains_key(key)
            && let Some((_, oldest)) = self.uses.pop_first()
        {
            self.buckets.remove(&oldest);
        }
        let fresh = || (Bucket::new(self.rate, self.burst, now), self.counter);
        let (bucket, used) = self.buckets.entry(key.clone()).or_insert_with(fresh);
        self.uses.remove(used);
        self.uses.insert(self.counter, key.clone());
        *used = self.counter;
        bucket.take(now)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn limits() -> Limits {
        Limits::new(Clock::starting_at(jiff::Timestamp::UNIX_EPOCH))
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_gets_its_burst_and_then_five_a_second() {
        let (limits, address) = (limits(), IpAddr::from([10, 0, 0, 1]));
        assert_eq!((0..100).filter(|_| limits.source(address).is_ok()).count(), 20);
        let wait = limits.source(address).unwrap_err();
        assert!(wait <= Duration::from_millis(201), "{wait:?}");
        assert!(limits.source(IpAddr::from([10, 0, 0, 2])).is_ok(), "others are not held back");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((0..100).filter(|_| limits.source(address).is_ok()).count(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn an_id_is_asked_about_ten_times_a_minute() {
        let limits = limits();
        assert_eq!((0..100).filter(|_| limits.record("a").is_ok()).count(), 10);
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!((0..100).filter(|_| limits.record("a").is_ok()).count(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_of_one_network_are_one_source() {
        let limits = limits();
        let address = |last: u16| IpAddr::from(Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, last));
        assert_eq!((0..100).filter(|last| limits.source(address(*last)).is_ok()).count(), 20);
        let (new, old) = (IpAddr::from(Ipv4Addr::LOCALHOST.to_ipv6_mapped()), IpAddr::from(Ipv4Addr::LOCALHOST));
        assert_eq!(network(new), network(old));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_strangers_takes_no_more_than_its_place() {
        let limits = limits();
        let busy = IpAddr::from([192, 0, 2, 1]);
        while limits.source(busy).is_ok() {}
        for number in 0..40_000_u32 {
            let _ = limits.source(Ipv4Addr::from(0x0a00_0000 + number).into());
            let _ = limits.record(&number.to_string());
            if number.is_multiple_of(1_000) {
                assert!(limits.source(busy).is_err(), "who keeps asking is not forgotten");
            }
        }
        assert_eq!(limits.largest(), ENTRIES);
    }
}
