//! Tokens hold for whom, for what and as long as they say, and not a byte longer.

use proptest::prelude::*;

use super::*;
use crate::access::{Authenticator, Credential};

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

fn signer() -> Signer {
    Signer::new(ISSUER, SecretSlice::from(b"0123456789abcdef0123456789abcdef".to_vec()))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn mint(signer: &Signer, audiences: &[&str]) -> String {
    let audiences: Vec<String> = audiences.iter().map(|&audience| audience.to_owned()).collect();
    let grant =
        Grant { namespace: "ns", name: "acc", uid: "u1", audiences: &audiences, now: at(0), seconds: 600, id: "j1" };
    signer.mint(&grant).expose_secret().to_owned()
}

fn known(namespace: &str, name: &str) -> Option<Account> {
    (namespace == "ns" && name == "acc").then(|| Account { uid: "u1".to_owned(), deleted: None })
}

fn verify(token: &str, now: i64) -> Result<Option<Authenticated>, String> {
    signer().verify(token, &[ISSUER.to_owned()], at(now), &known)
}

#[test]
fn claims_are_those_of_a_real_bound_token() {
    let token = mint(&signer(), &[ISSUER]);
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    let expected = r#"{"aud":["https://kubernetes.default.svc.cluster.local"],"exp":1800000600,"iat":1800000000,"iss":"https://kubernetes.default.svc.cluster.local","jti":"j1","kubernetes.io":{"namespace":"ns","serviceaccount":{"name":"acc","uid":"u1"}},"nbf":1800000000,"sub":"system:serviceaccount:ns:acc"}"#;
    assert_eq!(String::from_utf8(payload).unwrap(), expected);
}

#[test]
fn a_token_makes_its_bearer_the_account() {
    let known = verify(&mint(&signer(), &["other", ISSUER]), 1).unwrap().unwrap();
    assert_eq!(known.audiences, [ISSUER]);
    assert_eq!(known.user.name, "system:serviceaccount:ns:acc");
    assert_eq!(known.user.uid, "u1");
    assert_eq!(known.user.groups, ["system:serviceaccounts", "system:serviceaccounts:ns"]);
    assert_eq!(known.user.extra["authentication.kubernetes.io/credential-id"], ["JTI=j1"]);
}

#[test]
fn a_token_ends_a_minute_after_its_time_and_begins_a_minute_before() {
    let token = mint(&signer(), &[ISSUER]);
    assert!(verify(&token, 660).is_ok());
    assert_eq!(verify(&token, 661).unwrap_err(), "service account token has expired");
    assert!(verify(&token, -60).is_ok());
    assert_eq!(verify(&token, -61).unwrap_err(), "service account token is not valid yet");
}

#[test]
fn a_token_is_for_its_audience_only() {
    let why =
        r#"token audiences ["a"] is invalid for the target audiences ["https://kubernetes.default.svc.cluster.local"]"#;
    assert_eq!(verify(&mint(&signer(), &["a"]), 0).unwrap_err(), why);
}

#[test]
fn a_token_dies_with_its_account() {
    let token = mint(&signer(), &[ISSUER]);
    let ask = |account: Option<Account>| {
        let accounts = move |_: &str, _: &str| account.clone();
        signer().verify(&token, &[ISSUER.to_owned()], at(100), &accounts).map(|known| known.is_some())
    };
    let account = |uid: &str, deleted| Some(Account { uid: uid.to_owned(), deleted });
    assert_eq!(ask(account("u1", None)), Ok(true));
    assert_eq!(ask(None).unwrap_err(), "serviceaccounts \"acc\" not found");
    assert_eq!(ask(account("u2", None)).unwrap_err(), "service account UID (u2) does not match claim (u1)");
    assert_eq!(ask(account("u1", Some(at(40)))), Ok(true));
    assert_eq!(ask(account("u1", Some(at(39)))).unwrap_err(), "service account ns/acc has been deleted");
}

#[test]
fn another_key_or_algorithm_makes_no_token() {
    let other = Signer::new(ISSUER, SecretSlice::from(b"another".to_vec()));
    let refused = "go-jose/go-jose: error in cryptographic primitive";
    assert_eq!(verify(&mint(&other, &[ISSUER]), 0).unwrap_err(), refused);
    let token = mint(&signer(), &[ISSUER]);
    let payload = token.split('.').nth(1).unwrap();
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    assert_eq!(verify(&format!("{none}.{payload}."), 0).unwrap_err(), refused);
    let stranger = Signer::new("https://elsewhere", SecretSlice::from(b"0123456789abcdef0123456789abcdef".to_vec()));
    assert_eq!(verify(&mint(&stranger, &[ISSUER]), 0), Ok(None));
}

#[test]
fn headers_are_read_as_the_real_server_reads_them() {
    let fixed = [(SecretString::from("t0k3n"), User::new("admin", &[]))];
    let authenticator = Authenticator::new(signer(), fixed);
    let who =
        |header: &str| authenticator.authenticate(Credential::Header(header), at(0), &known).map(|user| user.name).ok();
    assert_eq!(who("Bearer t0k3n").as_deref(), Some("admin"));
    assert_eq!(who("bearer t0k3n more").as_deref(), Some("admin"));
    assert_eq!(who(&format!("Bearer {}", mint(&signer(), &[ISSUER]))).as_deref(), Some("system:serviceaccount:ns:acc"));
    assert_eq!(who("Bearer wrong"), None);
    for nothing in ["", "Basic t0k3n", "Bearer", "Bearer  t0k3n"] {
        assert_eq!(who(nothing).as_deref(), Some("system:anonymous"), "{nothing:?}");
    }
    let none = authenticator.authenticate(Credential::Nothing, at(0), &known).unwrap();
    assert_eq!(none, User::anonymous());
    let given = authenticator.authenticate(Credential::Identity(&User::new("me", &[])), at(0), &known).unwrap();
    assert_eq!(given.groups, ["system:authenticated"]);
    let refusal = authenticator.authenticate(Credential::Header("Bearer x"), at(0), &known).unwrap_err();
    assert_eq!((refusal.code.as_u16(), refusal.message.as_str(), refusal.details), (401, "Unauthorized", None));
}

#[test]
fn no_secret_is_printed() {
    let fixed = [(SecretString::from("t0k3n"), User::new("admin", &[]))];
    let authenticator = Authenticator::new(signer(), fixed);
    let printed = format!("{authenticator:?} {:?}", Credential::Header("Bearer t0k3n"));
    assert!(
        !printed.contains("t0k3n") && !printed.contains("0123456789abcdef") && !printed.contains("48, 49"),
        "{printed}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn tokens_come_back_as_they_were_minted(namespace in "[a-z]{1,5}", name in "[a-z.]{1,5}", uid in "\\PC{0,8}", id in "[a-f0-9-]{1,9}") {
        let audiences = [ISSUER.to_owned()];
        let grant = Grant { namespace: &namespace, name: &name, uid: &uid, audiences: &audiences, now: at(0), seconds: 600, id: &id };
        let token = signer().mint(&grant);
        let accounts = |_: &str, _: &str| Some(Account { uid: uid.clone(), deleted: None });
        let known = signer().verify(token.expose_secret(), &audiences, at(0), &accounts).unwrap().unwrap();
        prop_assert_eq!(known.user.name, account_username(&namespace, &name));
        prop_assert_eq!(known.user.uid, uid);
    }

    #[test]
    fn a_changed_byte_makes_it_no_token(at_byte in any::<prop::sample::Index>(), to in 0x20_u8..0x7f) {
        let token = mint(&signer(), &[ISSUER]);
        let mut bytes = token.clone().into_bytes();
        let index = at_byte.index(bytes.len());
        prop_assume!(bytes[index] != to);
        bytes[index] = to;
        let changed = String::from_utf8(bytes).unwrap();
        prop_assert!(!matches!(verify(&changed, 0), Ok(Some(_))));
    }

    #[test]
    fn no_text_makes_it_stumble(text in "\\PC{0,60}", dots in "[a-zA-Z0-9_=-]{0,20}\\.[a-zA-Z0-9_-]{0,40}\\.[a-zA-Z0-9_-]{0,20}") {
        prop_assert!(!matches!(verify(&text, 0), Ok(Some(_))));
        prop_assert!(!matches!(verify(&dots, 0), Ok(Some(_))));
    }
}
