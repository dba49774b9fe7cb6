//! What an administrator's login makes: all that is missing, and nothing else. A token that somebody may be using stays.

use anyhow::{Context, anyhow, bail};
use providers::http::Trust;
use providers::hypervisor::Error;
use providers::hypervisor::proxmox::{Admin, Gap, Generation, Grants};
use secrecy::SecretString;

use super::{Store, Wish, access};
use crate::print;

/// Makes what is missing, and nothing else; the token's secret.
pub(super) async fn apply(wish: &Wish, trust: &Trust, admin: &Admin, store: &Store) -> anyhow::Result<SecretString> {
    let version = admin.version().await.map_err(|error| {
        let refused = matches!(error, Error::Auth { .. });
        anyhow!(error).context(if refused { login(wish) } else { format!("--endpoint: {}", wish.endpoint) })
    })?;
    if Generation::of(&version).is_none() {
        bail!("--endpoint: Proxmox VE {version} is not supported: 8 or 9 is needed");
    }
    let grants = wanted(wish, admin).await?;
    let gap = admin.gap(&grants).await?;
    let known = reusable(wish, trust, store, &gap).await?;
    print::out(&format!("Proxmox VE {version}: {}\n", told(&grants, &gap)))?;
    admin.found(&grants, &gap).await?;
    let secret = match known {
        Some(secret) => secret,
        None => admin.token(&grants, &gap).await?,
    };
    // A new one is told once: before anything else can go wrong it is where a second run finds it.
    access::keep(wish, trust, &secret, store).await?;
    // With an old token its entries in the access list are gone, too.
    let gap = admin.gap(&grants).await?;
    admin.fill(&grants, &gap).await?;
    let left = admin.gap(&grants).await?;
    if !left.is_empty() {
        bail!("Proxmox VE took every change, and still lacks {}", told(&grants, &left));
    }
    Ok(secret)
}

/// What to do about a login that is refused.
fn login(wish: &Wish) -> String {
    let user = wish.admin.as_ref().map(|(user, _)| user.as_str()).unwrap_or_default();
    format!(
        "--admin-user: {user} cannot log in: correct it, or --admin-password-file. Who needs a second factor cannot log in here: \
         run the lines that --print shows, then this with --token-secret-file"
    )
}

/// What machines take: what flags say, and what a clone of the image takes wherever that is.
async fn wanted(wish: &Wish, admin: &Admin) -> anyhow::Result<Grants> {
    let mut needs = wish.needs();
    let Some(image) = admin.image(wish.image).await.context("--image")? else {
        bail!("--image: {} has no VM {}; name a template that `qm list` shows", wish.endpoint, wish.image);
    };
    needs.cloning(&image);
    Ok(Grants::new(&needs, &wish.user, &wish.token))
}

/// The secret of a token that exists; nothing if it is to be made, or made anew because somebody agreed to that.
async fn reusable(wish: &Wish, trust: &Trust, store: &Store, gap: &Gap) -> anyhow::Result<Option<SecretString>> {
    let (identity, endpoint) = (wish.identity(), &wish.endpoint);
    if gap.token {
        if wish.token_secret.is_some() {
            bail!("--token-secret-file: {endpoint} has no token {identity}; leave the flag out, and --apply makes it");
        }
        return Ok(None);
    }
    if let Some(secret) = access::known(wish, trust, store).await? {
        return Ok(Some(secret));
    }
    let exists = format!(
        "Token {identity} exists at {endpoint}, and its secret is not known here. Whoever uses it is locked out when it is \
         made anew"
    );
    if wish.renew_token || wish.questions.agrees(&format!("{exists}. Type yes to do that: "))? {
        print::out(&format!("The token {identity} is made anew.\n"))?;
        return Ok(None);
    }
    Err(anyhow!(
        "{exists}. Add --token-name NAME for another one, --token-secret-file FILE with its secret, or --renew-token to make it \
         anew"
    ))
}

/// What is to be done, in words.
fn told(grants: &Grants, gap: &Gap) -> String {
    if gap.is_empty() {
        return "nothing is missing, nothing is changed".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(pool) = grants.pool.as_ref().filter(|_| gap.pool) {
        parts.push(format!("pool {pool}"));
    }
    if gap.user {
        parts.push(format!("user {}", grants.user));
    }
    if gap.token {
        parts.push(format!("token {}", grants.identity()));
    }
    parts.extend(gap.roles.iter().map(|(role, _)| format!("role {}", role.name)));
    parts.extend(gap.paths.iter().map(|path| format!("rights on {path}")));
    format!("making {}", parts.join(", "))
}
