#!/bin/sh
# What a launcher calls in place of ssh: HOST COMMAND…. Hands both to the desk in its folder, waits for
# the end of the command, and ends with its output and its exit code.

folder=${0%/*}
[ $# -gt 0 ] || exit 0 # the desk tries whether this folder lets programs run
if [ "$1" = -x ]; then shift; fi # Hydra's option for ssh
case $1 in -*)
  echo "railgauge: launch: through-suite has no ssh, so it takes no option of ssh: $1" >&2
  exit 255
  ;;
esac

host=$1
shift
umask 077
mkfifo "$folder/answer.$$" && exec 4<>"$folder/answer.$$" || exit 255
printf '%s' "$*" >"$folder/command.$$"
printf '%s %s\n' "$$" "$host" 1<>"$folder/requests"
read -r code <&4
cat "$folder/out.$$" 2>/dev/null
cat "$folder/err.$$" >&2 2>/dev/null
exit "${code:-255}"
