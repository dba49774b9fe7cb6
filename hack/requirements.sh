#!/usr/bin/env bash
# Checks that this machine has what a make target needs, and says what to do where it has not.
#
# usage: hack/requirements.sh [rust] [go]
#
# Debian packages that are missing are installed when root runs this, in one call; anybody else is told that call.
set -euo pipefail

# Each row: the command that must exist, the packages that bring it, what it is for.
packages=(
  "cc|gcc libc6-dev|links Rust programs and compiles the cryptography library"
  "flock|util-linux|lets two runs share one build of the tools"
)

fail() {
  printf 'requirements: %s\n' "$1" >&2
  exit 1
}

exists() { command -v "$1" >/dev/null 2>&1; }

missing=()
for row in "${packages[@]}"; do
  IFS='|' read -r program names reason <<<"$row"
  exists "$program" && continue
  read -ra more <<<"$names"
  missing+=("${more[@]}")
  printf 'requirements: %s is missing (%s: %s)\n' "$program" "$names" "$reason" >&2
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
    *) fail "'$language' is neither rust nor go" ;;
  esac
done
