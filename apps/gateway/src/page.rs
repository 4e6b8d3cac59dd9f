//! The page: one bundle inside the binary, without external resources.

use axum::extract::Path;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};

use crate::reply::{self, HttpResponse};

/// The files of `page/dist`, which `npm run build` in `page` writes.
const INDEX: &str = include_str!("../page/dist/index.html");
const FILES: [(&str, &str, &[u8]); 2] = [
    ("page.js", "text/javascript; charset=utf-8", include_bytes!("../page/dist/assets/page.js")),
    ("page.css", "text/css; charset=utf-8", include_bytes!("../page/dist/assets/page.css")),
];

/// Nothing from other hosts.
const POLICY: &str =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

pub(crate) async fn index() -> HttpResponse {
    let mut response = reply::with_body(200, "text/html; charset=utf-8", INDEX);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

pub(crate) async fn asset(Path(path): Path<String>) -> HttpResponse {
    let found = FILES.iter().find(|(name, ..)| *name == path);
    let Some((_, kind, bytes)) = found else { return reply::text(404, "no such file\n") };
    let mut response = reply::with_body(200, "application/octet-stream", *bytes);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
