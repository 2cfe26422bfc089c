# Ends every process group of this machine with a process whose tag begins with $1: by TERM, after a
# second by KILL. Our own group, which may carry the tag too, is left out.
# shellcheck shell=sh

# Sets group to that of a process.
group_of() {
  stat=
  # The name, in brackets, may contain anything, line ends too; only numbers follow the last bracket.
  while IFS= read -r line; do stat=$stat$line; done <"/proc/$1/stat"
  # shellcheck disable=SC2086 # split into one word for each field
  set -- ${stat##*)}
  group=${3-}
  [ -n "$group" ]
} 2>/dev/null

# Sets left to the groups that are to be ended, and leaving to that of the holder $2, which is left
# out. A process of that number without the tag is another, which came after the holder had ended.
find_groups() {
  left=' ' leaving=
  found=$(grep -lsF -e "RAILGAUGE_RUN=$1" /proc/[0-9]*/environ)
  case $found in
    *"/proc/$2/environ"*) if group_of "$2"; then leaving=$group; fi ;;
  esac
  for environ in $found; do
    process=${environ#/proc/}
    group_of "${process%/environ}" || continue
    case "$left $own $leaving " in
      *" $group "*) ;;
      *) if [ "$group" -gt 1 ]; then left="$left$group "; fi ;;
    esac
  done
  left=${left# }
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
  group_of $$ && own=$group
  turn=0
  while find_groups "$1" "${2-}" && [ -n "$left" ] && [ $turn -lt 20 ]; do
    case $turn in
      0) send TERM "$left" ;;
      [5-9] | 1?) send KILL "$left" ;;
    esac
    sleep 0.2
    turn=$((turn + 1))
  done
  [ -z "$left" ]
}

# Sweeps, then has the holder $2 leave, so that the node is clean when another run gets it. One look
# through the processes is enough for both. If its group does not end, all that is left is ended.
release() {
  sweep "$1" "$2"
  code=$?
  turn=0
  [ -z "$leaving" ] || kill -s TERM "$2" 2>/dev/null
  while [ -n "$leaving" ] && kill -s 0 -- "-$leaving" 2>/dev/null; do
    if [ $turn -ge 40 ]; then sweep "$1"; return; fi
    sleep 0.05
    turn=$((turn + 1))
  done
  return $code
}
