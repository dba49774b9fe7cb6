//! A seed short enough for the firmware: all SMBIOS fields of a VM together have 512 characters.
//!
//! ```text
//!   hf1;id;machine;token;sha256 of the authority's certificate;https://host:port[;sha256 of the agent]
//! ```
//!
//! Numbers are in base64url. Only letters, digits and what addresses are made of: nothing in it can end the field that it stands in.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use secrecy::{ExposeSecret, SecretString};

use crate::{Seed, VERSION};

/// What such a seed begins with.
pub const ENGRAVED: &str = "hf1;";

/// What stands before the SHA-256 of a certificate, in base64url, where a seed has no room for the certificate itself.
pub const PIN: &str = "sha256:";

/// How a seed names the certificate with this SHA-256.
pub fn pin(hash: &[u8]) -> String {
    format!("{PIN}{}", BASE64.encode(hash))
}

/// The seed as one line; nothing if one of its fields does not fit: ids must be UUIDs, the token 64 hexadecimal digits,
/// the authority a [`PIN`], the agent's hash one, and the address plain.
pub fn engrave(seed: &Seed) -> Option<SecretString> {
    let pin = seed.authority.strip_prefix(PIN).filter(|pin| decoded::<32>(pin).is_some())?;
    if seed.version != VERSION || !is_plain(&seed.url) {
        return None;
    }
    let (id, machine) = (digits::<16>(&seed.id)?, digits::<16>(&seed.machine)?);
    let token = digits::<32>(seed.token.expose_secret())?;
    let mut fields =
        vec![BASE64.encode(id), BASE64.encode(machine), BASE64.encode(token), pin.to_owned(), seed.url.clone()];
    if let Some(agent) = &seed.agent {
        fields.push(BASE64.encode(digits::<32>(agent)?));
    }
    Some(format!("{ENGRAVED}{}", fields.join(";")).into())
}

/// Reads such a line; nothing if it is none.
pub fn decipher(line: &str) -> Option<Seed> {
    let mut fields = line.trim_end().strip_prefix(ENGRAVED)?.split(';');
    let mut next = || fields.next();
    let (id, machine, token) = (decoded::<16>(next()?)?, decoded::<16>(next()?)?, decoded::<32>(next()?)?);
    let (pin, url) = (next()?, next()?);
    let agent = match next() {
        Some(agent) => Some(hex(&decoded::<32>(agent)?)),
        None => None,
    };
    if next().is_some() || decoded::<32>(pin).is_none() || !is_plain(url) {
        return None;
    }
    Some(Seed {
        version: VERSION,
        url: url.to_owned(),
        authority: format!("{PIN}{pin}"),
        id: uuid(&id),
        token: hex(&token).into(),
        machine: uuid(&machine),
        agent,
    })
}

/// Whether an address can stand in the line, and in a firmware's string.
fn is_plain(url: &str) -> bool {
    !url.is_empty() && url.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/[]".contains(&byte))
}

fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    BASE64.decode(text).ok()?.try_into().ok()
}

/// The bytes of hexadecimal digits, with hyphens or without.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let value = |digit: u8| u8::try_from(char::from(digit).to_digit(16)?).ok();
    let byte = |pair: &[u8]| Some((value(*pair.first()?)? << 4) | value(*pair.get(1)?)?);
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes?.try_into().ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn uuid(bytes: &[u8; 16]) -> String {
    let digits = hex(bytes);
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
    groups.map(|group| digits.get(group).unwrap_or_default().to_owned()).join("-")
}

#[cfg(test)]
mod tests;
