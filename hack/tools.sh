#!/usr/bin/env bash
# Builds the real third-party programs that the tests run, each once, into a cache outside the tree:
#
#   ${XDG_CACHE_HOME:-$HOME/.cache}/hyperfleet/tools/<module>-<version>/bin/<program>
#
# usage: hack/tools.sh [--path] [program or module ...]      (nothing named: all of them, in the order below)
#
# The version is stated once, in tools/<module>/go.mod. A stamp beside bin/, written last, holds a hash of everything that
# went into the program; while it matches, the program counts as built. A lock file lets two runs share one build.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache="${XDG_CACHE_HOME:-${HOME:?HOME is not set, and neither is XDG_CACHE_HOME}/.cache}/hyperfleet/tools"

# program | directory under tools/ | module that states the version | package.
# What every integration test needs comes first.
programs=(
  "etcd                    etcd        go.etcd.io/etcd/server/v3  go.etcd.io/etcd/server/v3"
  "kube-apiserver          kubernetes  k8s.io/kubernetes          k8s.io/kubernetes/cmd/kube-apiserver"
  "kubectl                 kubernetes  k8s.io/kubernetes          k8s.io/kubernetes/cmd/kubectl"
  "kube-controller-manager kubernetes  k8s.io/kubernetes          k8s.io/kubernetes/cmd/kube-controller-manager"
  "helm                    helm        helm.sh/helm/v3            helm.sh/helm/v3/cmd/helm"
)

fail() {
  printf 'tools: %s\n' "$1" >&2
  exit 1
}

# The version of module $2 in tools/$1/go.mod.
version_of() {
  local version
  version=$(awk -v module="$2" '$1 == module { print $2; exit }' "$tree/tools/$1/go.mod")
  [[ -n $version ]] || fail "tools/$1/go.mod does not require $2"
  printf '%s' "$version"
}

# Linker flags of a program of module $1 at version $2. Built outside its own repository a program does not know its
# version: kubectl then refuses to parse what the server reports.
linker_flags() {
  local flags='-s -w'
  case $1 in
    kubernetes)
      local number=${2#v} name=k8s.io/component-base/version
      local minor=${number#*.}
      flags+=" -X $name.gitVersion=$2 -X $name.gitMajor=${number%%.*} -X $name.gitMinor=${minor%%.*}"
      # A fixed date: the same sources give the same program.
      flags+=" -X $name.gitTreeState=clean -X $name.buildDate=1970-01-01T00:00:00Z"
      ;;
    helm) flags+=" -X helm.sh/helm/v3/internal/version.version=$2" ;;
  esac
  printf '%s' "$flags"
}

# Everything that decides how a program comes out: module $1, package $2, flags $3.
fingerprint() {
  { cat "$tree/tools/$1/go.mod" "$tree/tools/$1/go.sum"; printf '%s\n' "$2" "$3" "$go_version"; } | sha256sum | cut -d' ' -f1
}

# Builds program $1 of module $2 at version $3 from package $4 with linker flags $5 into home $6; its stamp becomes $7.
compile() {
  local scratch="$6/.building"
  rm -rf "$scratch"
  mkdir -p "$scratch" "$6/bin"
  (
    cd "$tree/tools/$2"
    # No C: the programs run on any Linux of this architecture. -mod=readonly: go.mod and go.sum are what was reviewed.
    CGO_ENABLED=0 GOWORK=off GOFLAGS= go build -mod=readonly -buildvcs=false -trimpath -ldflags="$5" -o "$scratch/$1" "$4"
  ) >"$scratch/log" 2>&1 || {
    printf 'failed\n'
    cat "$scratch/log" >&2
    fail "$1 $3 did not build; the lines above are from go build in tools/$2"
  }
  mv "$scratch/$1" "$6/bin/$1"
  printf '%s\n' "$7" >"$scratch/stamp"
  mv "$scratch/stamp" "$6/$1.stamp"
  rm -rf "$scratch"
}

# Brings one program up to date and prints its line.
build() {
  local program=$1 module=$2 package=$4 version flags stamp home started
  version=$(version_of "$module" "$3")
  flags=$(linker_flags "$module" "$version")
  stamp=$(fingerprint "$module" "$package" "$flags")
  home="$cache/$module-$version"
  mkdir -p "$home"

  printf '%-24s %-10s ' "$program" "$version"
  # The lock goes with the file descriptor, so a killed run leaves nothing to clean up.
  exec 9>"$home/.lock"
  flock --nonblock 9 || { printf 'waiting for another build ... '; flock 9; }
  if [[ -x $home/bin/$program && $(cat "$home/$program.stamp" 2>/dev/null) == "$stamp" ]]; then
    printf 'cached\n'
  else
    printf 'building ... '
    rm -f "$home/$program.stamp"
    started=$SECONDS
    compile "$program" "$module" "$version" "$package" "$flags" "$home" "$stamp"
    printf '%d s\n' "$((SECONDS - started))"
  fi
  exec 9>&-
}

# The path of a program, built or not, for those who call it.
show_path() {
  printf '%s/%s-%s/bin/%s\n' "$cache" "$2" "$(version_of "$2" "$3")" "$1"
}

action=build
if [[ ${1-} == --path ]]; then
  action=show_path
  shift
else
  command -v go >/dev/null || fail "go is not installed. The tests run real Kubernetes programs, which are built from source: install Go as new as tools/*/go.mod ask for"
  go_version=$(go env GOVERSION GOOS GOARCH | tr '\n' ' ')
fi

names=$(printf '%s\n' "${programs[@]}" | awk '{ print $1; print $2 }' | sort -u)
for name in "$@"; do
  grep -qxF -- "$name" <<<"$names" || fail "nothing is called '$name'; there are: ${names//$'\n'/ }"
done

for row in "${programs[@]}"; do
  read -r program module version_module package <<<"$row"
  if [[ $# -eq 0 || " $* " == *" $program "* || " $* " == *" $module "* ]]; then
    "$action" "$program" "$module" "$version_module" "$package"
  fi
done
