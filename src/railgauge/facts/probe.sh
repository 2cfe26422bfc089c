# Everything that is asked of a node, in one round trip. POSIX sh; changes nothing.
# Set before this text: R, the host's root ('' for /), and N, the nonce that marks the lines
# which are the probe's own. Comment lines are not sent.
LC_ALL=C; export LC_ALL
case $R in ''|/*) ;; *) R=$PWD/$R ;; esac

# A subshell each, with no input, so that no section can disturb the next.
section() {
  name=$1; shift
  printf '%s begin %s\n' "$N" "$name"
  ( "$@" ) </dev/null 2>&1
  printf '\n%s end %s %s\n' "$N" "$name" "$?"
}
limited() { timeout -k 5 20 sh -c "$1"; }
absent() { printf '/%s: no such file\n' "$1"; exit 66; }
show() { [ -e "$R/$1" ] || absent "$1"; cat "$R/$1"; }
count() {
  cd "$R/sys/devices/system/$1" 2>/dev/null || absent "sys/devices/system/$1"
  cat online 2>/dev/null || printf '%s\n' "$1"[0-9]*
}
governors() {
  cd "$R/sys/devices/system/cpu" 2>/dev/null || absent sys/devices/system/cpu
  set -- cpu[0-9]*/cpufreq/scaling_governor
  [ -e "$1" ] || absent 'sys/devices/system/cpu/cpu*/cpufreq/scaling_governor'
  cat "$@" | sort -u
}
# Where /sys is there, a directory that is not is an answer: no HCA, no peer memory.
peers() {
  [ -d "$R/sys" ] || absent sys
  cd "$R/sys/kernel/mm/memory_peers" 2>/dev/null || exit 0
  for file in */version; do [ -e "$file" ] && printf '%s\n' "$file"; done
  exit 0
}
# Unset GIDs end in 64 zero bits; reading the type of an unset GID is an error that says nothing.
hcas() {
  [ -d "$R/sys/class" ] || absent sys/class
  [ -d "$R/sys/class/infiniband" ] || exit 0
  cd "$R/sys/class/infiniband" || exit
  printf 'nic %s\n' *
  printf 'net %s\n' */device/net/*
  ls -ld */device 2>/dev/null
  grep -s PCI_SLOT_NAME= /dev/null */device/uevent
  grep -sH . */fw_ver */hca_type */ports/1/state */ports/1/phys_state */ports/1/rate \
    */ports/1/link_layer */ports/1/lid */ports/1/sm_lid */device/numa_node \
    */device/current_link_speed */device/current_link_width \
    */device/max_link_speed */device/max_link_width
  grep -svH ':0000:0000:0000:0000$' */ports/1/gids/*
  grep -sH . */ports/1/gid_attrs/types/*
  exit 0
}
# show_gids forks for every entry of every table: only where sysfs has no tables.
gids() {
  set -- "$R"/sys/class/infiniband/*/ports/1/gids/0
  [ -e "$1" ] || limited show_gids
}
# Addresses, access control and part numbers are all that leaves the node of some megabytes.
pci() {
  out=$(limited 'lspci -vvv'); code=$?
  [ "$code" -eq 0 ] || { printf '%s\n' "$out" | tail -n 3; exit "$code"; }
  printf '%s\n' "$out" |
    sed -n -e 's/^\([0-9a-f:]*:[0-9a-f][0-9a-f]\.[0-7]\) .*/\1/p' \
      -e '/ACSCtl:/p' -e '/<access denied>/p' -e '/Part number:/p'
}

section hostname show proc/sys/kernel/hostname
section kernel show proc/sys/kernel/osrelease
section os show etc/os-release
section cpus count cpu
section numa_nodes count node
section governors governors
section numa_balancing show proc/sys/kernel/numa_balancing
section memlock show proc/self/limits
section modules show proc/modules
section peer_memory peers
section infiniband hcas
section ibv_devinfo limited ibv_devinfo
section ibdev2netdev limited 'ibdev2netdev -v'
section show_gids gids
section lspci pci
