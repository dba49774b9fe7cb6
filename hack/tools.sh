#!/usr/bin/env bash
# Builds the programs that the tests run, each once, into a cache outside the tree:
#
#   ${XDG_CACHE_HOME:-$HOME/.cache}/hyperfleet/tools/<directory>-<version>/bin/<program>
#
# usage: hack/tools.sh [--path] [program or directory ...]      (nothing named: all of them, in the order below)
#
# What goes into a program is pinned in tools/<directory>. A stamp beside bin/, written last, holds a hash of all of it;
# while it matches, the program counts as built. A lock file lets two runs share one build.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache="${XDG_CACHE_HOME:-${HOME:?HOME is not set, and neither is XDG_CACHE_HOME}/.cache}/hyperfleet/tools"

# program | directory under tools/ | kind | dependency whose version it carries | package.
# What every integration test needs comes first.
programs=(
  "etcd                    etcd        go      go.etcd.io/etcd/server/v3           go.etcd.io/etcd/server/v3"
  "kube-apiserver          kubernetes  go      k8s.io/kubernetes                   k8s.io/kubernetes/cmd/kube-apiserver"
  "kubectl                 kubernetes  go      k8s.io/kubernetes                   k8s.io/kubernetes/cmd/kubectl"
  "kube-controller-manager kubernetes  go      k8s.io/kubernetes                   k8s.io/kubernetes/cmd/kube-controller-manager"
  "go-proxmox              go-proxmox  go      github.com/luthermonson/go-proxmox  ."
  "ansible-playbook        python      python  ansible-core                        ansible-core"
  "proxmox-oracle          oracles     cargo   proxmox-api                         proxmox-oracle"
  "scaleset-oracle         oracles     cargo   scaleset                            scaleset-oracle"
  "gitea-runner            gitea-runner go     gitea.com/gitea/runner              gitea.com/gitea/runner"
  "gitea                   gitea       go      code.gitea.io/gitea                 code.gitea.io/gitea"
  "helm                    helm        go      helm.sh/helm/v3                     helm.sh/helm/v3/cmd/helm"
  "github-api.json         octokit     npm     @octokit/openapi                    package/generated/api.github.com.json"
  "github-server-api.json  octokit     npm     @octokit/openapi                    package/generated/ghes-3.19.json"
  "github-webhooks.json    octokit     npm     @octokit/webhooks-schemas           package/schema.json"
  "github-examples.json    octokit     npm     @octokit/webhooks-examples          package/api.github.com/index.json"
  "playwright-core         playwright  package playwright-core                     package/cli.js"
)

fail() {
  printf 'tools: %s\n' "$1" >&2
  exit 1
}

# Each kind of program is three functions. They read the row (program, directory, kind, dependency, package) and what
# follows from it (version, home), and run in tools/<directory>:
#
#   <kind>_version   the version that is pinned there
#   <kind>_inputs    what decides how the program comes out, beside the files there: the compiler and its flags
#   <kind>_build     makes $home/bin/$program, with $scratch for what is in between

# go: a program of a Go module, or one of ours in it.

go_version() {
  awk -v module="$dependency" '{ sub(/^require /, "") } $1 == module { print $2; exit }' go.mod
}

go_inputs() {
  linker_flags
  build_tags
  go env GOVERSION GOOS GOARCH | tr '\n' ' '
}

go_build() {
  local tags
  tags=$(build_tags)
  # No C where it can be done without: the programs run on any Linux of this architecture. -mod=readonly: go.mod and
  # go.sum are what was reviewed.
  CGO_ENABLED=$([[ $tags ]] && echo 1 || echo 0) GOWORK=off GOFLAGS= \
    go build -mod=readonly -buildvcs=false -trimpath -tags="$tags" -ldflags="$(linker_flags)" \
    -o "$scratch/$program" "$package" &&
    go_files &&
    mv "$scratch/$program" "$home/bin/$program"
}

# Gitea keeps its tables in SQLite, which is C.
build_tags() {
  [[ $directory != gitea ]] || printf 'sqlite,sqlite_unlock_notify'
}

# What a program reads while it runs: Gitea's pages and texts, beside bin/. Those of a module cannot be written to.
go_files() {
  [[ $directory == gitea ]] || return 0
  local source
  source=$(GOFLAGS=-mod=readonly go list -m -f '{{.Dir}}' "$dependency") &&
    rm -rf "$home"/{options,templates,public} &&
    cp -r "$source"/{options,templates,public} "$home" &&
    chmod -R u+w "$home"/{options,templates,public}
}

# Built outside its own repository a program does not know its version: kubectl then refuses to parse what the server
# reports.
linker_flags() {
  local flags='-s -w'
  case $directory in
    kubernetes)
      local number=${version#v} name=k8s.io/component-base/version
      local minor=${number#*.}
      flags+=" -X $name.gitVersion=$version -X $name.gitMajor=${number%%.*} -X $name.gitMinor=${minor%%.*}"
      # A fixed date: the same sources give the same program.
      flags+=" -X $name.gitTreeState=clean -X $name.buildDate=1970-01-01T00:00:00Z"
      ;;
    gitea) flags+=" -X main.Version=${version#v}" ;;
    helm) flags+=" -X helm.sh/helm/v3/internal/version.version=$version" ;;
  esac
  printf '%s\n' "$flags"
}

# cargo: a program of ours around somebody's crate.

cargo_version() {
  awk -v name="name = \"$dependency\"" '$0 == name { getline; gsub(/"/, "", $3); print $3; exit }' Cargo.lock
}

cargo_inputs() {
  cargo --version
}

cargo_build() {
  # What was compiled stays, as it does with Go: a change in our own lines then costs seconds.
  local compiled="$cache/cargo-target"
  cargo build --locked --package "$package" --target-dir "$compiled" &&
    cp "$compiled/debug/$program" "$scratch/$program" &&
    mv "$scratch/$program" "$home/bin/$program"
}

# python: a program of a virtual environment, which is its home, with the ansible collections that it runs.

python_version() {
  sed -n "s/^$dependency==\([^ ]*\).*/\1/p" requirements.txt
}

python_inputs() {
  python3 -c 'import sys; print(sys.version, sys.base_prefix)'
}

python_build() {
  # An environment does not survive being moved, so it is made in its place; without the stamp nobody uses it.
  rm -rf "$home"/{bin,collections,include,lib,lib64,pyvenv.cfg} &&
    python3 -m venv "$home" &&
    "$home/bin/python" -m pip install --no-input --require-hashes --only-binary=:all: --requirement requirements.txt &&
    # The newest collection comes in an archive for a newer Python than it needs itself.
    "$home/bin/python" -m pip download --no-input --require-hashes --only-binary=:all: --no-deps --python-version 3.13 \
      --dest "$scratch" --requirement collections.txt &&
    "$home/bin/python" unpack.py "$scratch"/ansible-*.whl "$home/collections"
}

# npm: one file of a package. The whole of it would be a hundred times as large.

npm_version() {
  awk -v name="$dependency" '$1 == name { print $2; exit }' packages.txt
}

npm_inputs() {
  printf 'one file'
}

# The archive of the package, if it is the one that was reviewed.
npm_fetch() {
  local digest
  digest=$(awk -v name="$dependency" '$1 == name { print $3; exit }' packages.txt)
  (cd "$scratch" && npm pack --silent "$dependency@$version") &&
    printf '%s  %s\n' "$digest" "$(ls "$scratch"/*.tgz)" | sha512sum --check --quiet
}

npm_build() {
  npm_fetch &&
    tar -xzOf "$scratch"/*.tgz "$package" >"$scratch/$program" &&
    # What is up to date is told by what can be run.
    chmod +x "$scratch/$program" &&
    mv "$scratch/$program" "$home/bin/$program"
}

# package: the whole of a package that needs no other, beside bin/. It drives a browser that is on the machine already.

package_version() {
  npm_version
}

package_inputs() {
  printf 'whole'
}

package_build() {
  npm_fetch &&
    rm -rf "$home/package" &&
    tar -xzf "$scratch"/*.tgz -C "$home" &&
    chmod +x "$home/$package" &&
    ln -sf "../$package" "$home/bin/$program"
}

# Fails where a kind's compiler is missing.
require() {
  case $1 in
    go) command -v go >/dev/null || fail "go is not installed. The tests run real Kubernetes programs, which are built from source: install Go as new as tools/*/go.mod ask for" ;;
    cargo) command -v cargo >/dev/null || fail "cargo is not installed: install Rust with rustup" ;;
    npm | package) command -v npm >/dev/null || fail "npm is not installed. The tests hold the simulated GitHub to the schemas that GitHub publishes there: install Node.js with npm" ;;
    python) command -v python3 >/dev/null || fail "python3 is not installed. The tests run clients written in Python: install Python 3.11 or newer with its venv module" ;;
  esac
}

# A hash of everything that decides how the program comes out.
fingerprint() {
  {
    find . -name target -prune -o -name __pycache__ -prune -o -type f -print | LC_ALL=C sort | xargs cat
    printf '%s\n' "$package"
    "${kind}_inputs"
    printf '\n'
  } | sha256sum | cut -d' ' -f1
}

# Brings the program of the row up to date and prints its line.
build() {
  local stamp started
  cd "$tree/tools/$directory"
  stamp=$(fingerprint)
  mkdir -p "$home/bin"

  printf '%-24s %-10s ' "$program" "$version"
  # The lock goes with the file descriptor, so a killed run leaves nothing to clean up.
  exec 9>"$home/.lock"
  flock --nonblock 9 || { printf 'waiting for another build ... '; flock 9; }
  if [[ -x $home/bin/$program && $(cat "$home/$program.stamp" 2>/dev/null) == "$stamp" ]]; then
    printf 'cached\n'
  else
    printf 'building ... '
    started=$SECONDS
    compile "$stamp"
    printf '%d s\n' "$((SECONDS - started))"
  fi
  exec 9>&-
}

# Builds the program of the row; its stamp becomes $1.
compile() {
  local scratch="$home/.building"
  rm -rf "$home/$program.stamp" "$scratch"
  mkdir "$scratch"
  "${kind}_build" >"$scratch/log" 2>&1 || {
    printf 'failed\n'
    cat "$scratch/log" >&2
    fail "$program $version did not build; the lines above are from tools/$directory"
  }
  printf '%s\n' "$1" >"$scratch/stamp"
  mv "$scratch/stamp" "$home/$program.stamp"
  rm -rf "$scratch"
}

# The path of the program of the row, built or not, for those who call it.
show_path() {
  printf '%s\n' "$home/bin/$program"
}

action=build
if [[ ${1-} == --path ]]; then
  action=show_path
  shift
fi

names=$(printf '%s\n' "${programs[@]}" | awk '{ print $1; print $2 }' | sort -u)
for name in "$@"; do
  grep -qxF -- "$name" <<<"$names" || fail "nothing is called '$name'; there are: ${names//$'\n'/ }"
done

for row in "${programs[@]}"; do
  read -r program directory kind dependency package <<<"$row"
  [[ $# -eq 0 || " $* " == *" $program "* || " $* " == *" $directory "* ]] || continue
  [[ $action == show_path ]] || require "$kind"
  version=$(cd "$tree/tools/$directory" && "${kind}_version")
  [[ -n $version ]] || fail "tools/$directory does not pin $dependency"
  home="$cache/$directory-$version"
  "$action"
done
