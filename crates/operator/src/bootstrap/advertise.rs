//! The address that machines are told to call.

use std::fmt;

use http::Uri;
use http::uri::Scheme;

/// The setting.
const KEY: &str = "bootstrap.advertise";

/// Where machines reach the bootstrap service, as `https://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertised(String);

/// A text that is no such address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{KEY}: {value:?} {wrong}; expected the address that machines reach the bootstrap service at, like https://10.0.0.1:8444"
)]
pub struct AdvertiseError {
    value: String,
    wrong: &'static str,
}

impl Advertised {
    /// Reads the setting; nothing if it is not set.
    pub fn parse(text: &str) -> Result<Option<Self>, AdvertiseError> {
        if text.is_empty() {
            return Ok(None);
        }
        let refused = |wrong| AdvertiseError { value: text.to_owned(), wrong };
        let uri: Uri = text.parse().map_err(|_| refused("is no URL"))?;
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Err(refused("does not begin with https://"));
        }
        let authority = uri.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or_else(|| refused("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refused("names a user"));
        }
        // A port that is none reads as a missing one.
        if authority.port().is_some() != authority.as_str().trim_start_matches(authority.host()).starts_with(':') {
            return Err(refused("has a port that is none"));
        }
        if uri.path() != "/" || uri.query().is_some() || text.contains('#') {
            return Err(refused("has a path"));
        }
        Ok(Some(Self(format!("https://{authority}"))))
    }

    /// The host's name or address.
    pub fn host(&self) -> &str {
        let place = self.0.trim_start_matches("https://");
        let end = if place.starts_with('[') { place.find(']').map(|end| end + 1) } else { place.find(':') };
        place.get(..end.unwrap_or(place.len())).unwrap_or(place).trim_start_matches('[').trim_end_matches(']')
    }

    /// The URL, without a path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Advertised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_and_a_host_and_nothing_else() {
        for (text, read, host) in [
            ("https://10.0.0.1:8444", "https://10.0.0.1:8444", "10.0.0.1"),
            ("https://boot.example.com", "https://boot.example.com", "boot.example.com"),
            ("https://[fd00::1]:8444/", "https://[fd00::1]:8444", "fd00::1"),
        ] {
            let advertised = Advertised::parse(text).unwrap().unwrap();
            assert_eq!((advertised.as_str(), advertised.host()), (read, host));
        }
        assert_eq!(Advertised::parse(""), Ok(None));
    }

    #[test]
    fn anything_else_is_refused_by_the_name_of_the_setting() {
        for (text, wrong) in [
            ("http://10.0.0.1:8444", "does not begin with https://"),
            ("10.0.0.1:8444", "does not begin with https://"),
            ("https://10.0.0.1:8444/boot", "has a path"),
            ("https://10.0.0.1:8444/?a=b", "has a path"),
            ("https://10.0.0.1:8444/#a", "has a path"),
            ("https://me@10.0.0.1", "names a user"),
            ("https://", "is no URL"),
            ("https://a b", "is no URL"),
            ("https://10.0.0.1:99999", "has a port that is none"),
        ] {
            let error = Advertised::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("bootstrap.advertise: ") && error.contains(wrong), "{error}");
        }
    }
}
