# Accepts TCP connections on the port $1, by IPv4 and IPv6, and closes each of them, until it is ended.
if command -v perl >/dev/null; then
  # shellcheck disable=SC2016 # the dollar signs are perl's
  exec perl -e 'use Socket qw(:all);
    sub on { socket(S, $_[0], SOCK_STREAM, 0) && setsockopt(S, SOL_SOCKET, SO_REUSEADDR, 1) }
    (on(PF_INET6) && setsockopt(S, IPPROTO_IPV6, IPV6_V6ONLY, 0) &&
      bind(S, pack_sockaddr_in6($ARGV[0], IN6ADDR_ANY))) ||
      (on(PF_INET) && bind(S, pack_sockaddr_in($ARGV[0], INADDR_ANY))) || die;
    listen(S, 64); while (accept(C, S)) { close(C) }' "$1"
elif command -v python3 >/dev/null; then
  exec python3 -c 'import socket, sys
both = socket.has_dualstack_ipv6()
family = socket.AF_INET6 if both else socket.AF_INET
server = socket.create_server(("", int(sys.argv[1])), family=family, dualstack_ipv6=both)
while True: server.accept()[0].close()' "$1"
fi
echo 'neither perl nor python3 is installed' >&2
exit 1
