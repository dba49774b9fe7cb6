//! A destination: any service in this process, whatever it speaks.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use tower::util::{BoxCloneSyncService, ServiceExt as _};
use tower::{BoxError, Service};

use super::line::Answer;

/// The far side of a line.
pub(crate) type Server = BoxCloneSyncService<Request<Full<Bytes>>, Response<Answer>, BoxError>;

/// Any service as a far side.
pub(crate) fn server<S, B>(service: S) -> Server
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let service = service.map_err(Into::into);
    BoxCloneSyncService::new(
        service.map_response(|answer: Response<B>| answer.map(|body| body.map_err(Into::into).boxed_unsync())),
    )
}
