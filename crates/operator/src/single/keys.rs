//! What a cluster of one keeps secret beside its objects: the key of its authority, what its administrator shows, and what
//! it signs the tokens of accounts with.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use jiff::Timestamp;
use providers::hex;
use rcgen::{Issuer, KeyPair};
use secrecy::{SecretSlice, SecretString};

use super::certificate::{self, CertificateError};
use super::{SingleError, files};
use crate::chance::real_chance;

const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";
const TOKEN: &str = "admin.token";
const ACCOUNTS: &str = "accounts.key";

/// The keys of a cluster of one. They show themselves to nobody.
pub struct Keys {
    pub(super) certificate: String,
    pub(super) key: KeyPair,
    pub(super) token: SecretString,
    pub(super) accounts: SecretSlice<u8>,
    renewed: bool,
}

impl Keys {
    /// New ones, known to nobody yet.
    pub fn fresh(now: Timestamp) -> Result<Self, CertificateError> {
        let (certificate, key) = certificate::authority(now)?;
        Ok(Self { certificate, key, token: token().into(), accounts: secret().to_vec().into(), renewed: false })
    }

    /// Those in `folder`, which only its owner reads. What is missing is made; an authority that ends within a year is made
    /// anew, because the kubeconfig is, too.
    pub fn load_or_make(folder: &Path, now: Timestamp) -> Result<Self, SingleError> {
        let file = |source| SingleError::File { path: folder.to_owned(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(file)?;
        let (certificate, key, renewed) = authority(folder, now)?;
        let token = read_or_make(folder, TOKEN, || format!("{}\n", token()))?;
        let accounts = read_or_make(folder, ACCOUNTS, || format!("{}\n", hex::encode(&secret())))?;
        for (name, found) in [(TOKEN, &token), (ACCOUNTS, &accounts)] {
            // Half of one that a full disk left, say.
            if found.trim().len() < 64 {
                return Err(damaged(folder, name, "it is too short"));
            }
        }
        let accounts = accounts.trim().as_bytes().to_vec().into();
        Ok(Self { certificate, key, token: token.trim().to_owned().into(), accounts, renewed })
    }

    /// Whether another authority stands in the place of one that would have ended soon.
    pub const fn renewed(&self) -> bool {
        self.renewed
    }

    /// Who signs with the authority's key.
    pub(super) fn issuer(&self) -> Result<Issuer<'static, KeyPair>, CertificateError> {
        Ok(certificate::issuer(KeyPair::from_pem(&self.key.serialize_pem())?))
    }
}

/// The authority in `folder`, or a new one, and whether that is in the place of another.
fn authority(folder: &Path, now: Timestamp) -> Result<(String, KeyPair, bool), SingleError> {
    let mut renewed = false;
    let (found, key) = (read(folder, CERTIFICATE)?, read(folder, KEY)?);
    if let (Some(certificate), Some(key)) = (found, key) {
        let key = KeyPair::from_pem(&key).map_err(|_| damaged(folder, KEY, "it is no key"))?;
        let ends = certificate::end_of(&certificate).ok_or_else(|| damaged(folder, CERTIFICATE, "no certificate"))?;
        if !certificate::belong(&certificate, &key, now) {
            return Err(damaged(folder, CERTIFICATE, "ca.key is not its key"));
        }
        if !certificate::ends_soon(ends, now) {
            return Ok((certificate, key, false));
        }
        renewed = true;
    }
    let (certificate, key) = certificate::authority(now)?;
    // The key first: a certificate without its key would be a damaged pair, the other way round both are made again.
    remove(folder, CERTIFICATE)?;
    write(folder, KEY, &key.serialize_pem())?;
    write(folder, CERTIFICATE, &certificate)?;
    Ok((certificate, key, renewed))
}

fn damaged(folder: &Path, name: &str, what: &'static str) -> SingleError {
    let cost = match name {
        ACCOUNTS => "tokens of ServiceAccounts do not work any more then",
        _ => "copies of the kubeconfig do not work any more then",
    };
    SingleError::Damaged { path: folder.join(name), what, cost }
}

fn read(folder: &Path, name: &str) -> Result<Option<String>, SingleError> {
    let path = folder.join(name);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SingleError::File { path, source }),
    }
}

fn read_or_make(folder: &Path, name: &str, make: impl FnOnce() -> String) -> Result<String, SingleError> {
    if let Some(text) = read(folder, name)? {
        return Ok(text);
    }
    let text = make();
    write(folder, name, &text)?;
    Ok(text)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), SingleError> {
    let path = folder.join(name);
    files::replace(&path, text.as_bytes()).map_err(|source| SingleError::File { path, source })
}

fn remove(folder: &Path, name: &str) -> Result<(), SingleError> {
    let path = folder.join(name);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(SingleError::File { path, source }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// 256 bits that nobody can guess.
fn secret() -> [u8; 32] {
    let mut bytes = [0; 32];
    real_chance()(&mut bytes);
    bytes
}

/// What an administrator shows.
fn token() -> String {
    format!("hf-{}", hex::encode(&secret()))
}

#[cfg(test)]
mod tests;
