# What the scripts share. Sourced; sets `root`, the top of the source tree, and works there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '== %s %s\n' "$(date +%T)" "$*"; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# configure FOLDER [cmake argument]...: only if the folder is not configured yet, or arguments are given.
configure() {
  local folder=$1
  shift
  if [[ -f $folder/build.ninja && $# -eq 0 ]]; then return; fi
  say "configuring $folder"
  cmake -S . -B "$folder" -G Ninja "$@"
}

# compile FOLDER [target]...: everything, if no target is named; what is up to date stays.
compile() {
  local folder=$1
  shift
  say "building $folder${*:+: $*}"
  ninja -C "$folder" "$@"
}
