# Ends every process group of this machine with a process whose tag begins with $1: by TERM, after a
# second by KILL. Our own group, which may carry the tag too, is left out.
# shellcheck shell=sh

group_of() {
  # The name, in brackets, may contain anything; only numbers follow the last bracket.
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # shellcheck disable=SC2086 # split into one word for each field
  set -- ${stat##*)}
  echo "$3"
}

groups() {
  # shellcheck disable=SC2013 # no path of /proc has a space
  for environ in $(grep -lsF -e "RAILGAUGE_RUN=$1" /proc/[0-9]*/environ); do
    process=${environ#/proc/}
    group=$(group_of "${process%/environ}") || continue
    if [ "$group" -gt 1 ] && [ "$group" != "$own" ]; then echo "$group"; fi
  done | sort -u
}

send() {
  for group in $2; do kill -s "$1" -- "-$group" 2>/dev/null; done
}

# The containers of a daemon are in no group of ours: their engine finds them by their label.
sweep_containers() {
  # shellcheck disable=SC2154 # the names of engines are set before this text
  for engine in $engines; do
    for kind in run part; do
      found=$("$engine" ps --all --quiet --filter "label=railgauge.$kind=$1")
      # shellcheck disable=SC2086 # one word for each container
      [ -z "$found" ] || "$engine" rm --force $found
    done
  done
} </dev/null >/dev/null 2>&1

sweep() {
  sweep_containers "$1"
  own=$(group_of $$)
  turn=0
  while left=$(groups "$1") && [ -n "$left" ] && [ $turn -lt 20 ]; do
    case $turn in
      0) send TERM "$left" ;;
      [5-9] | 1?) send KILL "$left" ;;
    esac
    sleep 0.2
    turn=$((turn + 1))
  done
  [ -z "$left" ]
}
