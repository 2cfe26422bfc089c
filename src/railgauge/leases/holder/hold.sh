# Holds the lease of one node for as long as somebody reads what it prints; then it ends what the run
# left behind, and lets go. Arguments: the host's root, who holds (one line), how the tag of the run
# begins on this node, seconds between two signs of life.
#
# Its first line is the answer: "held", "taken WHO", or "cannot WHY".

# shellcheck shell=sh disable=SC3065,SC3067 # test -k and -O: every sh of a Linux system has them

root=$1 who=$2 tag=$3 beat_s=$4
unset file
trap '' PIPE

cannot() {
  printf 'cannot %s\n' "$1"
  exit 1
}

# The same place for every user: a folder where all may make files and none may take away another's.
choose_file() {
  for folder in "$root/run/lock" "$root/tmp"; do
    if [ -d "$folder" ] && [ -k "$folder" ]; then
      file=$folder/railgauge.lease
      return
    fi
  done
  cannot "neither $root/run/lock nor $root/tmp is a folder where every user may make files (mode 1777)"
}

# Without waiting: 0 is ours now, 1 somebody else's. The lock lives as long as this shell's descriptor,
# whichever program asked for it.
lock() {
  if command -v flock >/dev/null; then
    flock -n 9
  elif command -v perl >/dev/null; then
    # shellcheck disable=SC2016 # perl's own
    perl -e 'open(my $file, "<&=9") or exit 2; exit(flock($file, 6) ? 0 : 1)'
  elif command -v python3 >/dev/null; then
    python3 -c 'import fcntl; fcntl.flock(9, 6)' 2>/dev/null
  else
    cannot "none of flock, perl and python3 is installed"
  fi
}

is_ours() { [ ! -L "$file" ] && [ "$file" -ef /proc/self/fd/9 ]; }

# Opened for reading only: to open a file of somebody else for writing is refused in such folders,
# even to root (fs.protected_regular).
open_file() {
  if [ ! -e "$file" ] && [ ! -L "$file" ]; then
    (umask 0 && set -C && : >"$file") 2>/dev/null
  fi
  if [ -L "$file" ] || { [ -e "$file" ] && [ ! -f "$file" ]; }; then
    cannot "$file is not a file"
  fi
  command exec 9<"$file"
} 2>/dev/null

# A holder that was killed outright left its file: root takes it away, others may only write in it.
write_name() {
  if [ -O "$file" ]; then
    printf '%s\n' "$who" >"$file"
  elif rm -f "$file" 2>/dev/null; then
    return 1
  else
    printf '%s\n' "$who" | dd of=/proc/self/fd/9 conv=nocreat 2>/dev/null ||
      cannot "$file was left by another user: have it removed"
  fi
}

take() {
  turn=0
  while [ $turn -lt 20 ]; do
    turn=$((turn + 1))
    open_file || continue
    lock
    case $? in
      0) if is_ours && write_name; then return; fi ;;
      1) tell_holder && exit 3 ;;
      *) cannot "$file cannot be locked" ;;
    esac
    exec 9<&-
  done
  cannot "$file cannot be had"
}

# The name may be on its way, or the file on its way out.
tell_holder() {
  name=$(head -n 1 <&9 | head -c 1000)
  if [ -z "$name" ] && [ $turn -lt 10 ]; then
    sleep 0.1
    return 1
  fi
  printf 'taken %s\n' "$name"
}

leave() {
  trap '' TERM HUP INT
  if is_ours; then
    rm -f "$file" 2>/dev/null || : | dd of=/proc/self/fd/9 conv=nocreat 2>/dev/null
  fi
  exit 0
}

choose_file
take
trap leave TERM HUP INT
printf 'held\n'
while is_ours; do
  if ! printf . 2>/dev/null; then # nobody reads any more: here the run is dead
    sweep "$tag"
    sleep 1 9<&-
    sweep "$tag" # what was just being started
    leave
  fi
  sleep "$beat_s" 9<&-
done
exit 4 # somebody took the file away, and with it the lease
