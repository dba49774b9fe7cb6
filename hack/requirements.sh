#!/usr/bin/env bash
# Checks that this machine has what a make target needs, and says what to do where it has not.
#
# usage: hack/requirements.sh [rust] [go] [python] [npm] [browser]
#
# Debian packages that are missing are installed when root runs this, in one call; anybody else is told that call.
set -euo pipefail

# Each row: which language needs it (or any), the command that must succeed, the packages that bring it, what it is for.
packages=(
  "any|exists cc|gcc libc6-dev|links Rust programs, and compiles the cryptography library and Gitea's database"
  "any|exists flock|util-linux|lets two runs share one build of the tools"
  "go|exists git|git|keeps the repositories of the Gitea server that tests run"
  "npm|exists npm|npm|fetches the schemas that GitHub publishes; the simulated GitHub is held to them"
  "browser|exists chromium|chromium|is the browser in which tests look at the console"
  "python|python3 -c 'import ensurepip'|python3 python3-venv|runs clients written in Python against our servers"
)

fail() {
  printf 'requirements: %s\n' "$1" >&2
  exit 1
}

exists() { command -v "$1" >/dev/null 2>&1; }

for language in "$@"; do
  [[ $language =~ ^(rust|go|python|npm|browser)$ ]] || fail "'$language' is none of rust, go, python, npm and browser"
done

missing=()
for row in "${packages[@]}"; do
  IFS='|' read -r language check names reason <<<"$row"
  [[ " any $* " == *" $language "* ]] || continue
  eval "$check" >/dev/null 2>&1 && continue
  read -ra more <<<"$names"
  missing+=("${more[@]}")
  printf 'requirements: missing %s: %s\n' "$names" "$reason" >&2
done

if [[ ${#missing[@]} -gt 0 ]]; then
  install="apt-get install --yes --no-install-recommends ${missing[*]}"
  exists apt-get || fail "install what brings these commands, then try again"
  [[ $(id -u) -eq 0 ]] || fail "run this, then try again: sudo $install"
  printf 'requirements: running %s\n' "$install" >&2
  apt-get update --quiet >&2
  DEBIAN_FRONTEND=noninteractive $install >&2
fi

for language in "$@"; do
  case $language in
    rust) exists cargo || fail "cargo is missing: install Rust with rustup (rust-toolchain.toml names the version)" ;;
    go) exists go || fail "go is missing: install Go as new as tools/*/go.mod ask for; the tests build real Kubernetes programs with it" ;;
    npm) exists npm || fail "npm is missing: install Node.js with npm; the simulated GitHub is held to schemas that GitHub publishes there" ;;
    browser) exists chromium || fail "chromium is missing: install it where the command chromium finds it; tests look at the console with it" ;;
    # Of a Python that Debian did not bring, only its owner can say what is missing.
    python) python3 -c 'import ensurepip' || fail "python3 has no ensurepip: install Python 3.11 or newer with its venv module" ;;
  esac
done
