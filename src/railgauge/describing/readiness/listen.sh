# Accepts TCP connections on the port $1 and closes each of them, until it is ended.
if command -v perl >/dev/null; then
  # shellcheck disable=SC2016 # the dollar signs are perl's
  exec perl -e 'use Socket; socket(S, PF_INET, SOCK_STREAM, 0) or die; setsockopt(S, SOL_SOCKET, SO_REUSEADDR, 1);
    bind(S, sockaddr_in($ARGV[0], INADDR_ANY)) or die; listen(S, 64); while (accept(C, S)) { close(C) }' "$1"
elif command -v python3 >/dev/null; then
  exec python3 -c 'import socket, sys
s = socket.create_server(("", int(sys.argv[1])))
while True: s.accept()[0].close()' "$1"
fi
echo 'neither perl nor python3 is installed' >&2
exit 1
