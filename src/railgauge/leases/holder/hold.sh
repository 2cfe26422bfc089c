# Holds the lease of one node while its output has a reader that answers. Then it ends the processes
# that the run left behind, and releases the lease. Arguments: the host's root, the holder (one line),
# the prefix of the run's tags on this node, the seconds between two signs of life, the seconds within
# which the run has to answer.
#
# It prints a dot as a sign of life, and now and then a question mark, to which a line of input is the
# answer. Its first line is the answer: "held PID", the process to end by TERM, "taken HOLDER", "cannot REASON",
# or "forged REASON".

# shellcheck shell=sh disable=SC3065,SC3067 # test -k and -O: every sh of a Linux system has them

root=$1 who=$2 tag=$3 beat_s=$4 answer_s=$5
unset file folder waiting
exec 3<&0
trap '' PIPE
umask 0

cannot() {
  printf 'cannot %s\n' "$1"
  exit 1
}

# Another user has replaced our file or folder, so that we would overwrite or lock something else.
forged() {
  printf 'forged %s\n' "$1"
  exit 1
}

# The same place for every user: our folder, below one in which everyone may create files and nobody may
# delete those of others.
choose_folder() {
  for parent in "$root/run/lock" "$root/tmp"; do
    if [ -d "$parent" ] && [ -k "$parent" ]; then
      folder=$parent/railgauge
      file=$folder/node.lease
      return
    fi
  done
  cannot "neither $root/run/lock nor $root/tmp is a folder in which every user may create files (mode 1777)"
}

# Sets mode, links and owner to those of $1.
look_at() {
  # shellcheck disable=SC2046 # split into one word for each field
  set -- $(ls -ldn "$@" 2>/dev/null)
  mode=${1-} links=${2-} owner=${3-}
  [ -n "$owner" ]
}

# Our folder is one like /tmp: 1 if it was just deleted, or is just being made. Sets new if this
# script has made it, so that no other user may delete or replace what the script makes in it.
open_folder() {
  new=
  if [ ! -e "$folder" ] && [ ! -L "$folder" ] && mkdir -m 1777 "$folder" 2>/dev/null; then
    new=yes
    return
  fi
  look_at "$folder" || return 1
  case $mode in
    drwxrwxrwt*) ;;
    l*) forged "$folder is a symbolic link" ;;
    d*) if [ $turn -lt 10 ]; then return 1; else forged "$folder has not the mode 1777"; fi ;;
    *) forged "$folder is no folder" ;;
  esac
  # Whoever owns the folder may delete what others have in it.
  if [ "$owner" != 0 ] && [ "$(id -u)" = 0 ]; then
    (cd -P "$folder" && [ ! -L "$folder" ] && [ . -ef "$folder" ] && chown 0 .) || return 1
  fi
}

# Takes the lock without waiting: 0 if it is ours now, 1 if another process has it. The lock lasts as
# long as this shell's file descriptor, whichever program took it.
lock() {
  if command -v flock >/dev/null; then
    flock -n 9
  elif command -v perl >/dev/null; then
    # shellcheck disable=SC2016 # the dollar signs are perl's
    perl -e 'open(my $file, "<&=9") or exit 2; exit(flock($file, 6) ? 0 : 1)'
  elif command -v python3 >/dev/null; then
    python3 -c 'import fcntl; fcntl.flock(9, 6)' 2>/dev/null
  else
    cannot "none of flock, perl and python3 is installed"
  fi
}

is_ours() { [ ! -L "$file" ] && [ "$file" -ef /proc/self/fd/9 ]; }

# Opens the file for reading only: in such folders the kernel refuses to open another user's file for
# writing, even to root (fs.protected_regular).
open_file() {
  made=
  if [ ! -e "$file" ] && [ ! -L "$file" ]; then
    set -C
    if command : >"$file"; then made=$new; fi
    set +C
  fi
  if [ -L "$file" ] || { [ -e "$file" ] && [ ! -f "$file" ]; }; then
    forged "$file is not a regular file"
  fi
  command exec 9<"$file" || return 1
  [ -z "$made" ] || return 0
  look_at -L /proc/self/fd/9 || return 1
  case $links in
    0) return 1 ;; # its holder has just deleted it
    1) ;;
    *) forged "$file is a hard link: the same file has another name" ;;
  esac
} 2>/dev/null

# A holder that was killed leaves its file behind. Root deletes it; other users can only write to it.
# The name is written to the opened file, even if another file has its path now.
write_name() {
  if [ -O /proc/self/fd/9 ]; then
    printf '%s\n' "$who" >/proc/self/fd/9
  elif rm -f "$file" 2>/dev/null; then
    return 1
  else
    printf '%s\n' "$who" | dd of=/proc/self/fd/9 conv=nocreat 2>/dev/null ||
      cannot "$file was left behind by another user: ask that user or root to delete it"
  fi
}

take() {
  turn=0
  while [ $turn -lt 20 ]; do
    turn=$((turn + 1))
    if ! open_folder; then
      sleep 0.1
      continue
    fi
    open_file || continue
    lock
    case $? in
      0) if is_ours && write_name; then return; fi ;;
      1) print_holder && exit 3 ;;
      *) cannot "$file cannot be locked" ;;
    esac
    exec 9<&-
  done
  cannot "$file could not be locked in 20 attempts"
}

# An empty file is tried again: its holder is about to write its name, or about to delete the file.
print_holder() {
  name=$(head -n 1 <&9 | head -c 1000)
  if [ -z "$name" ] && [ $turn -lt 10 ]; then
    sleep 0.1
    return 1
  fi
  printf 'taken %s\n' "$name"
}

leave() {
  trap '' TERM HUP INT
  # shellcheck disable=SC2086 # no word if there was none yet
  kill $waiting 2>/dev/null # it has our output open
  # One program for both, where rm knows -d. A folder in which another script has a file stays.
  if is_ours; then rm -fd "$file" "$folder" 2>/dev/null; fi
  if is_ours; then
    rm -f "$file" 2>/dev/null || : | dd of=/proc/self/fd/9 conv=nocreat 2>/dev/null
  fi
  if [ -d "$folder" ]; then rmdir "$folder" 2>/dev/null; fi
  exit 0
}

# In the background, because a signal waits for what is in the foreground.
wait_for() {
  "$@" <&3 3<&- 9<&- &
  waiting=$!
  wait $waiting
}

# Whether the run still answers. Its reader may vanish without an end of file, if the network fails or
# the run's machine hangs. So each fifth sign of life needs an answer.
is_heard() {
  beats=$(((beats + 1) % 5))
  if [ $beats -gt 0 ]; then
    printf . 2>/dev/null
  else
    printf '?' 2>/dev/null && wait_for timeout "$answer_s" sh -c 'read -r _'
  fi
}

choose_folder
take
trap leave TERM HUP INT
printf 'held %s\n' $$
beats=0
while is_ours; do
  if ! is_heard; then
    sweep "$tag"
    sleep 1 9<&-
    sweep "$tag" # again, for processes that were just being started
    leave
  fi
  wait_for sleep "$beat_s"
done
exit 4 # the file was deleted, and the lease with it
