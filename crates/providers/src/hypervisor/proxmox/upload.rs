//! The body of an upload, as Proxmox's own multipart parser wants it: `content` first, the file last and called
//! `filename`, its disposition the first header and capitalised so.

use hyper::body::Bytes;
use sha2::{Digest, Sha256};

use crate::hex;

/// A boundary that does not occur in the file, and the whole body.
pub(super) fn iso(name: &str, file: &[u8]) -> (String, Bytes) {
    let boundary = format!("hyperfleet-{}", hex::encode(&Sha256::digest(file)[..16]));
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(file);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    (boundary, body.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_stand_in_the_order_the_parser_wants() {
        let (boundary, body) = iso("hyperfleet-101-a1.iso", b"ISO\r\n--x");
        let text = String::from_utf8(body.to_vec()).unwrap();
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"hyperfleet-101-a1.iso\"\r\n\
             Content-Type: application/octet-stream\r\n\r\nISO\r\n--x\r\n--{boundary}--\r\n"
        );
        assert_eq!(text, expected);
        assert_eq!(text.matches(&boundary).count(), 3);
    }
}
