# The frame of the scripts that ask a node for many things in one round trip. POSIX sh; changes nothing.
# Set before this text: R, the host's root ('' for /), and N, the nonce that marks the script's own
# lines. Comment lines are not sent.
LC_ALL=C; export LC_ALL
case $R in ''|/*) ;; *) R=$PWD/$R ;; esac
export R; hung=

# Each section runs in a subshell without input, so that it cannot affect the next.
section() {
  name=$1; shift
  printf '%s begin %s\n' "$N" "$name"
  ( "$@" ) </dev/null 2>&1
  code=$?
  printf '\n%s end %s %s\n' "$N" "$name" "$code"
  case $code in 124|137) hung=$name ;; esac
}
limited() { timeout -k 5 20 sh -c "$1"; }
# If one tool of a driver hangs, so do all others: they are not run.
asked() {
  [ -z "$hung" ] || { printf 'not run: %s did not answer within its time limit\n' "$hung"; exit 75; }
  limited "$1"
}
absent() { printf '/%s: no such file\n' "$1"; exit 66; }
show() { [ -e "$R/$1" ] || absent "$1"; cat "$R/$1"; }
# A file of one line, by the shell itself: a program would cost the node several times as much. What
# the shell cannot read cat reads, or says why not. Not for numbers in /proc/sys: the kernel gives a
# reader only what its first call takes, and shells ask for one byte at a time.
one_line() {
  [ -e "$R/$1" ] || absent "$1"
  value=
  { IFS= read -r value <"$R/$1"; } 2>/dev/null
  if [ -n "$value" ]; then printf '%s\n' "$value"; else cat "$R/$1"; fi
}
