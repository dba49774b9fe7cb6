//! A browser, as far as a person needs one to agree to an App.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use http_body_util::Full;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use providers::http::{AddressPolicy, Call, Client, Endpoint, REQUEST_TIMEOUT, Trust};
use testenv::Program;
use tower::ServiceExt as _;

use crate::clinic::Clinic;
use crate::person::SOON;

pub(crate) struct Browser {
    github: sim::github::Simulator,
}

impl Browser {
    pub(crate) fn new(clinic: &Clinic) -> Self {
        Self { github: clinic.github.clone() }
    }

    /// The address that a program has printed, once it is there.
    pub(crate) fn address(output: &str) -> String {
        output.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).unwrap().to_owned()
    }

    /// Agrees to the App that a program asks for.
    pub(crate) async fn agree_to(&self, program: &Program) {
        program.wait_for_line("in your browser and agree there", SOON).await;
        self.agree_at(&program.output()).await;
    }

    /// Agrees to the App at the address that was printed there.
    pub(crate) async fn agree_at(&self, output: &str) {
        let html = self.get(&Self::address(output)).await;
        let back = self.agree(&html).await;
        self.get(&back).await;
    }

    /// A page on this machine.
    pub(crate) async fn get(&self, url: &str) -> String {
        let policy = AddressPolicy { allow: vec!["127.0.0.0/8".parse().unwrap()], deny: Vec::new() };
        let endpoint = Endpoint::https_or_plain(url, Trust::System, policy).unwrap();
        let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| rest[at..].to_owned()));
        let call = Call {
            method: Method::GET,
            route: "/",
            subject: "a page".to_owned(),
            path: path.unwrap_or_else(|| "/".to_owned()),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            timeout: REQUEST_TIMEOUT,
        };
        let answer = Client::connect("browser", &endpoint).unwrap().send(call).await.unwrap();
        String::from_utf8_lossy(&answer.body).into_owned()
    }

    /// Presses the button of the page; where the platform sends us then.
    pub(crate) async fn agree(&self, html: &str) -> String {
        let plain =
            |text: &str| text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let between = |from: &str| plain(html.split_once(from).unwrap().1.split_once('"').unwrap().0);
        let (target, manifest) = (between("action=\""), between("value=\""));
        let form = format!("manifest={}", utf8_percent_encode(&manifest, NON_ALPHANUMERIC));
        let request = Request::post(target)
            .header(header::USER_AGENT, "browser")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(form)))
            .unwrap();
        let answer = self.github.service().oneshot(request).await.unwrap();
        answer.headers().get(header::LOCATION).unwrap().to_str().unwrap().to_owned()
    }
}
