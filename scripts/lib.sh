# What the scripts share. Sourced; sets `root`, the top of the source tree, and works there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

note() { printf '== %s %s\n' "$(date +%T)" "$*"; }

# say TEXT: a stage begins. With MUSTER_STAGES, a file, the stage is noted there, for print_stages.
say() {
  note "$@"
  [[ -z ${MUSTER_STAGES:-} ]] || printf '%s %s\n' "$(date +%s)" "$*" >>"$MUSTER_STAGES"
}

# print_stages FILE: how long each stage took, in minutes and seconds. A stage ends where the next one begins.
print_stages() {
  awk -v now="$(date +%s)" '
    function row(seconds, what) { printf "%4d:%02d  %s\n", seconds / 60, seconds % 60, substr(what, 1, 100) }
    BEGIN { print "  time  stage" }
    NR == 1 { first = $1 }
    NR > 1 { row($1 - began, stage) }
    { began = $1; stage = substr($0, length($1) + 2) }
    END { if (NR) { row(now - began, stage); row(now - first, "all") } }' "$1"
}

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# configure FOLDER [cmake argument]...
configure() {
  local folder=$1
  shift
  say "configuring $folder"
  cmake -S . -B "$folder" -G Ninja "$@"
}

# configure_once FOLDER [cmake argument]...: a folder that is configured stays as it is.
configure_once() { [[ -f $1/build.ninja ]] || configure "$@"; }

# compile FOLDER [target]...: everything, if no target is named; what is up to date stays.
compile() {
  local folder=$1
  shift
  say "building $folder${*:+: $*}"
  ninja -C "$folder" "$@"
}
