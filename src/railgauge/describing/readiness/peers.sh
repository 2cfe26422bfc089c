# Asks one node for the names and the ports of others, all at the same time. Arguments: three words for
# each of the others, its name, its port, and its addresses by commas, the first as tools are given it.
# Prints "resolved NAME ADDRESS", or "resolved NAME -", and "reached NAME ADDRESS HOW".
# What connects says it in the words of strerror(3), whichever of the programs there is.
LC_ALL=C; export LC_ALL
connect() {
  if command -v bash >/dev/null; then
    # shellcheck disable=SC2016 # for the inner shell
    timeout -k 1 4 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2"
  elif command -v python3 >/dev/null; then
    timeout -k 1 5 python3 -c 'import socket, sys
try: socket.create_connection(sys.argv[1:3], 4)
except OSError as error: sys.exit(str(error))' "$1" "$2"
  elif command -v perl >/dev/null; then
    # shellcheck disable=SC2016 # the dollar signs are perl's
    timeout -k 1 5 perl -MIO::Socket::IP -e 'IO::Socket::IP->new(PeerHost => $ARGV[0], PeerPort => $ARGV[1], Timeout => 4) or die "$@\n"' "$1" "$2"
  else
    echo 'none of bash, python3 and perl is installed'; return 1
  fi
}
reach() {
  output=$(connect "$2" "$3" 2>&1 </dev/null)
  case $? in
    0) output=open ;;
    124 | 137) output='Connection timed out' ;;
    *) output=$(printf '%s\n' "$output" | head -n 1) ;;
  esac
  printf 'reached %s %s %s\n' "$1" "$2" "$output"
}
resolve() {
  command -v getent >/dev/null || return
  found=$(timeout -k 1 5 getent ahosts "$2" 2>/dev/null </dev/null | sed -n '1s/ .*//p')
  printf 'resolved %s %s\n' "$1" "${found:--}"
}
while [ $# -ge 3 ]; do
  resolve "$1" "${3%%,*}" &
  for address in $(printf '%s' "$3" | tr , ' '); do reach "$1" "$address" "$2" & done
  shift 3
done
wait
