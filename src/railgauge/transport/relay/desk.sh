# Stands on the first node of a launch and hands the requests of the remote agent to the suite.
# Argument: the text of the agent.
#
# Its first line is "ready FOLDER" or "cannot REASON", then each request is one line,
# "start ID HOST HEX": run the command, whose bytes are in hexadecimal digits, on HOST.

# shellcheck shell=sh

umask 077

# The agent is started by the launcher, so its folder must not forbid programs (noexec), and its name
# must be one word.
choose_folder() {
  for base in "${TMPDIR:-/tmp}" /tmp /dev/shm /var/tmp "$HOME"; do
    case $base in "" | *[!A-Za-z0-9/._-]*) continue ;; esac
    folder=$(mktemp -d "$base/railgauge.XXXXXX" 2>/dev/null) || continue
    printf '%s\n' "$1" >"$folder/agent" && chmod 700 "$folder/agent" &&
      mkfifo "$folder/requests" && "$folder/agent" && return
    rm -rf "$folder"
  done 2>/dev/null
  echo "cannot make a folder for programs in any of TMPDIR, /tmp, /dev/shm, /var/tmp and HOME"
  exit 1
}

# An agent that still waits gets an answer, so that none outlives the launch.
leave() {
  trap '' TERM HUP INT
  for answer in "$folder"/answer.*; do
    if [ -p "$answer" ]; then echo 255 1<>"$answer"; fi
  done
  rm -rf "$folder"
  exit 0
}

choose_folder "$1"
trap leave TERM HUP INT
# Opened for reading and writing, so that neither side waits for the other to open it.
exec 3<>"$folder/requests"
echo "ready $folder"
while read -r id host <&3; do
  printf 'start %s %s %s\n' "$id" "$host" "$(od -An -v -tx1 "$folder/command.$id" | tr -d ' \n')"
done
