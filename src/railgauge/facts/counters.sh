# The error counters of a node's NICs and GPUs, in the frame of sections.sh. Comment lines are not
# sent. The counters of files are printed as "path:value".

# Counters of port 1 of every HCA; the arguments are their names. Reading one asks the firmware.
ports() {
  cd "$R/" || exit
  for name in "$@"; do
    set -- "$@" "sys/class/infiniband/*/ports/1/counters/$name" "sys/class/infiniband/*/ports/1/hw_counters/$name"
    shift
  done
  grep -sH . /dev/null $*
  exit 0
}
# The totals that the kernel counts at GPUs (display and processing) and NICs.
aer() {
  cd "$R/" || exit
  set --
  for device in sys/bus/pci/devices/*; do
    { read -r class <"$device/class"; } 2>/dev/null || continue
    case $class in 0x03*|0x12*) set -- "$@" "$device" ;; esac
  done
  for device in "$@" sys/class/infiniband/*/device sys/class/net/*/device; do
    set -- "$@" "$device/aer_dev_correctable" "$device/aer_dev_nonfatal" "$device/aer_dev_fatal"
  done
  grep -sH TOTAL_ERR /dev/null "$@"
  exit 0
}
drops() {
  cd "$R/" || exit
  grep -sH . /dev/null sys/class/net/*/statistics/[rt]x_dropped
  exit 0
}
# What only ethtool shows, of the network devices of the given NICs. The PATH of a login that is not
# root may lack the folders that hold ethtool.
statistics() {
  PATH=$PATH:/usr/sbin:/sbin
  command -v ethtool >/dev/null || { echo 'ethtool: command not found'; exit 127; }
  for nic in "$@"; do
    set -- "$R/sys/class/infiniband/$nic/device/net"/*
    [ -e "$1" ] || set -- "$nic"
    for netdev in "$@"; do
      timeout -k 5 20 ethtool -S "${netdev##*/}" | grep -E '^ *[rt]x_[a-z0-9_]*(pause|discard|dropped)[a-z_]*: *[0-9]+$' |
        sed "s|: *|:|; s|^ *|ethtool/$nic/|"
    done
  done
  exit 0
}
