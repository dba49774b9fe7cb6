//! The page itself: files that are the same for everybody, part of the program.

use std::fmt::Write as _;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

/// A file of the page: its address, its type, and what it holds.
type File = (&'static str, &'static str, &'static [u8]);

const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: &[File] = &[
    ("/console/", "text/html; charset=utf-8", include_bytes!("page/index.html")),
    ("/console/style.css", "text/css; charset=utf-8", include_bytes!("page/style.css")),
    ("/console/app.js", SCRIPT, include_bytes!("page/app.js")),
    ("/console/stream.js", SCRIPT, include_bytes!("page/stream.js")),
    ("/console/table.js", SCRIPT, include_bytes!("page/table.js")),
    ("/console/timeline.js", SCRIPT, include_bytes!("page/timeline.js")),
    ("/console/detail.js", SCRIPT, include_bytes!("page/detail.js")),
    ("/console/views.js", SCRIPT, include_bytes!("page/views.js")),
    ("/console/words.js", SCRIPT, include_bytes!("page/words.js")),
    ("/console/icon.svg", "image/svg+xml", include_bytes!("page/icon.svg")),
];

/// Only files of this page, and nothing written into it: what a job is called cannot become a script, and nobody else
/// learns that somebody looks. Scripts cannot make markup from text at all.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The pages that anybody may have.
pub(super) fn open() -> Router {
    let whole = Router::new().route("/console", get(|| async { Redirect::permanent("console/") }));
    dress(FILES.iter().fold(whole, |pages, (address, kind, content)| {
        let tag = tag_of(content);
        pages.route(address, get(move |asked: HeaderMap| async move { file(kind, content, &tag, &asked) }))
    }))
}

/// The same pages with what browsers must know about each.
pub(super) fn dress(pages: Router) -> Router {
    pages.layer(from_fn(put_on))
}

async fn put_on(request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    for (name, value) in HEADERS {
        answer.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}

/// A file, or word that the one that they have is still right: with another version of the program it may not be.
fn file(kind: &'static str, content: &'static [u8], tag: &str, asked: &HeaderMap) -> Response {
    let ask_again = (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let tag = HeaderValue::from_str(tag).expect("a digest in hexadecimal is a header's value");
    if asked.get(header::IF_NONE_MATCH) == Some(&tag) {
        return (StatusCode::NOT_MODIFIED, [ask_again, (header::ETAG, tag)]).into_response();
    }
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static(kind));
    ([ask_again, kind, (header::ETAG, tag)], content).into_response()
}

/// What tells this content from another, as a header has it.
fn tag_of(content: &[u8]) -> String {
    let mut tag = String::from("\"");
    for byte in &Sha256::digest(content)[..16] {
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    tag
}
