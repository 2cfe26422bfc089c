# All facts of a node in one round trip, in the frame of sections.sh. Comment lines are not sent.
count() {
  cd "$R/sys/devices/system/$1" 2>/dev/null || absent "sys/devices/system/$1"
  value=
  { read -r value <online; } 2>/dev/null
  if [ -n "$value" ]; then printf '%s\n' "$value"; else printf '%s\n' "$1"[0-9]*; fi
}
# The lines of /proc/cpuinfo that name the processor, on x86, Arm and POWER; other lines differ from
# CPU to CPU.
cpu_model() {
  [ -e "$R/proc/cpuinfo" ] || absent proc/cpuinfo
  grep -E '^(model name|CPU implementer|CPU part|cpu)[[:space:]]*:' "$R/proc/cpuinfo" | sort -u
}
# Whether the machine is a guest: x86 has a flag for it, on others only the firmware tells.
virtual() {
  [ -e "$R/proc/cpuinfo" ] || absent proc/cpuinfo
  sed -n '/^flags[[:space:]]*:/{/[[:space:]]hypervisor\([[:space:]]\|$\)/{s/.*/guest/;p;q;};s/.*/host/;p;q;}' "$R/proc/cpuinfo"
  for file in sys_vendor product_name; do
    { read -r value <"$R/sys/class/dmi/id/$file"; } 2>/dev/null && printf 'dmi %s\n' "$value"
  done
  exit 0
}
# Intel's own driver says whether turbo is off, the others whether boost is on.
boost() {
  cd "$R/sys/devices/system/cpu" 2>/dev/null || absent sys/devices/system/cpu
  for file in intel_pstate/no_turbo cpufreq/boost; do
    { read -r value <"$file"; } 2>/dev/null && { printf '%s %s\n' "$file" "$value"; exit 0; }
  done
  absent sys/devices/system/cpu/cpufreq/boost
}
governors() {
  cd "$R/sys/devices/system/cpu" 2>/dev/null || absent sys/devices/system/cpu
  set -- cpu[0-9]*/cpufreq/scaling_governor
  [ -e "$1" ] || absent 'sys/devices/system/cpu/cpu*/cpufreq/scaling_governor'
  cat "$@" | sort -u
}
numa_cpus() {
  cd "$R/sys/devices/system/node" 2>/dev/null || absent sys/devices/system/node
  set -- node[0-9]*/cpulist
  [ -e "$1" ] || absent 'sys/devices/system/node/node*/cpulist'
  grep -H '' "$@"
}
# What a login gets of locked memory, from the files that say so; none of them is an answer too.
memlock_config() {
  [ -d "$R/etc" ] || absent etc
  cd "$R/etc/security" 2>/dev/null || exit 0
  grep -hsE '^[^#]*[[:space:]]memlock[[:space:]]' limits.conf limits.d/*.conf
  exit 0
}
# One namespace for each disk; partitions and the paths of a multipath disk are not listed.
nvmes() {
  [ -d "$R/sys/block" ] || absent sys/block
  cd "$R/sys/block" || exit
  for disk in nvme*n1; do [ -e "$disk" ] || [ -L "$disk" ] || continue; printf '%s\n' "$disk"; done
  exit 0
}
# The controllers of NVMe disks, with their PCIe links; a node may have none.
nvme_disks() {
  [ -d "$R/sys" ] || absent sys
  cd "$R/sys/class/nvme" 2>/dev/null || exit 0
  for disk in nvme*; do [ -e "$disk" ] && printf 'disk %s\n' "$disk"; done
  grep -sH . /dev/null */transport */address */model */serial */firmware_rev \
    */device/current_link_speed */device/current_link_width */device/max_link_speed \
    */device/max_link_width
  exit 0
}
# Their SMART logs, of those on this node's own PCIe bus. One that hangs ends the section.
nvme_smart() {
  [ -d "$R/sys" ] || absent sys
  cd "$R/sys/class/nvme" 2>/dev/null || exit 0
  for disk in nvme*; do
    [ -e "$disk" ] || continue
    { read -r way <"$disk/transport"; } 2>/dev/null && [ "$way" != pcie ] && continue
    printf 'disk %s\n' "$disk"
    if command -v nvme >/dev/null; then timeout -k 5 20 nvme smart-log -o json "$R/dev/$disk"
    elif command -v smartctl >/dev/null; then timeout -k 5 20 smartctl --json -A "$R/dev/$disk"
    else printf 'nvme: command not found\n'; exit 127; fi
    case $? in 124|137) exit 124 ;; esac
    printf '\n'
  done
  exit 0
}
# If /sys exists, a missing directory is an answer: no HCA, no peer memory.
peers() {
  [ -d "$R/sys" ] || absent sys
  cd "$R/sys/kernel/mm/memory_peers" 2>/dev/null || exit 0
  for file in */version; do [ -e "$file" ] && printf '%s\n' "$file"; done
  exit 0
}
# Network devices with hardware, which bridges, bonds and veth pairs do not have. If there are none,
# as inside a container or a network namespace, its Ethernet devices are listed instead.
netdevs() {
  [ -d "$R/sys/class" ] || absent sys/class
  cd "$R/sys/class/net" 2>/dev/null || exit 0
  names=
  for device in */device; do [ -e "$device" ] && names="$names ${device%/device}"; done
  [ -n "$names" ] || for name in *; do
    { read -r type <"$name/type"; } 2>/dev/null && [ "$type" = 1 ] || continue
    [ -e "$name/bridge" ] || [ -e "$name/bonding" ] || names="$names $name"
  done
  for name in $names; do
    printf 'nic %s\n' "$name"
    for file in operstate speed mtu device/numa_node; do
      { read -r value <"$name/$file"; } 2>/dev/null && printf '%s/%s:%s\n' "$name" "$file" "$value"
    done
  done
  ls -ld */device */device/driver 2>/dev/null
  grep -sH -e PCI_SLOT_NAME= -e DRIVER= /dev/null */device/uevent
  exit 0
}
# Interrupts by device: "irq NAME NUMBER ...", then the CPUs that serve each of them.
irqs() {
  [ -d "$R/sys/class" ] || absent sys/class
  cd "$R/" || exit
  lists=
  for device in sys/class/infiniband/* sys/class/net/*; do
    [ -d "$device/device/msi_irqs" ] || continue
    numbers=$(cd "$device/device/msi_irqs" && printf ' %s' *)
    printf 'irq %s%s\n' "${device##*/}" "$numbers"
    for irq in $numbers; do
      lists="$lists proc/irq/$irq/smp_affinity_list proc/irq/$irq/effective_affinity_list"
    done
  done
  [ -z "$lists" ] || grep -sH . $lists
  exit 0
}
# Processes with the given names, and their arguments: some disturb a measurement only with certain
# arguments.
named() {
  [ $# -gt 0 ] || exit 0
  cd "$R/proc" 2>/dev/null || absent proc
  for name in "$@"; do set -- "$@" -e "$name"; shift; done
  for comm in $(grep -sxl "$@" /dev/null [0-9]*/comm); do
    pid=${comm%/comm}
    { read -r name <"$comm"; } 2>/dev/null || continue
    printf '%s/comm:%s\n' "$pid" "$name"
    printf '%s/cmdline:%s\n' "$pid" "$({ tr '\000\n' '  ' <"$pid/cmdline"; } 2>/dev/null)"
  done
  exit 0
}
# The variables that hide GPUs from programs, as the login, setup and the hostfile set them.
visible() { env | grep -E '^(CUDA|HIP|ROCR|MACA)_VISIBLE_DEVICES='; exit 0; }
# Daemons that move memory between NUMA nodes: those that run, and those that start at boot.
numa_daemons() {
  (named numad) || exit
  cd "$R/etc/systemd/system" 2>/dev/null || exit 0
  for link in *.wants/numad.service; do [ -L "$link" ] && printf 'starts %s\n' "$link"; done
  exit 0
}
# Modules that each boot loads: the lists of systemd (modules-load.d(5)) and of rdma-core. A file
# is named even if it is empty, because it hides files of the same name in later folders.
boot_modules() {
  [ -d "$R/etc" ] || absent etc
  cd "$R/" || exit
  for file in etc/modules-load.d/*.conf run/modules-load.d/*.conf usr/local/lib/modules-load.d/*.conf \
    usr/lib/modules-load.d/*.conf etc/modules etc/rdma/modules/*.conf; do
    [ -e "$file" ] || [ -L "$file" ] || continue
    printf 'file %s\n' "$file"
    sed -n 's/^[[:space:]]*\([A-Za-z0-9_-]\{1,\}\).*/module \1/p' "$file" 2>/dev/null
  done
  { read -r line <proc/cmdline; } 2>/dev/null || exit 0
  set -f
  for word in $line; do case $word in *modules[_-]load=*) printf 'cmdline %s\n' "$word" ;; esac; done
  exit 0
}
# Unset GIDs end in 64 zero bits. Reading the type of an unset GID fails; that error is ignored.
hcas() {
  [ -d "$R/sys/class" ] || absent sys/class
  [ -d "$R/sys/class/infiniband" ] || exit 0
  cd "$R/sys/class/infiniband" || exit
  printf 'nic %s\n' *
  printf 'net %s\n' */device/net/*
  ls -ld */device 2>/dev/null
  grep -s PCI_SLOT_NAME= /dev/null */device/uevent
  grep -sH . */fw_ver */hca_type */board_id */node_guid */ports/1/state */ports/1/phys_state */ports/1/rate \
    */ports/1/link_layer */ports/1/lid */ports/1/sm_lid */device/numa_node \
    */device/current_link_speed */device/current_link_width
  grep -svH ':0000:0000:0000:0000$' */ports/1/gids/*
  grep -sH . */ports/1/gid_attrs/types/*
  exit 0
}
# The release of the vendor's RDMA drivers, from ofed_info, or from the kernel module if there is none.
ofed() {
  if command -v ofed_info >/dev/null; then limited 'ofed_info -s'
  else show sys/module/mlx5_core/version; fi
}
# The lines of the kernel's log that may name a fault, at most 500 of them and then "more", what ends
# its reading, and its last record without the text.
kernel_log() {
  [ -e "$R/dev/kmsg" ] || absent dev/kmsg
  output=$(dd if="$R/dev/kmsg" iflag=nonblock bs=8192 2>&1 | awk '
    /^dd: / { print }
    /^[0-9]+,[0-9]+,[0-9]+,/ {
      last = $0; sub(/;.*/, "", last)
      if ($0 ~ faults && n++ < 500) print substr($0, 1, 1200)
      else if (n > 500 && !more++) print "more"
    }
    END { print last }' faults='NVRM|Xid|AER|PCIe Bus Error|DPC: |mlx5_core .*(health|rror|imeout|unable|insuff)|NETDEV WATCHDOG|amdgpu .*(hardware errors|reset|timeout|ecovery|lost|poison)|Hardware Error|EDAC|Memory failure|BUG|watchdog|Oops|Kernel panic|nvme .*(timeout|down)')
  printf '%s\n' "$output"
  case $output in *': Resource temporarily unavailable'*) ;; *) exit 1 ;; esac
}
# show_gids forks for every entry of every table, so it runs only if sysfs has no GID tables.
gids() {
  set -- "$R"/sys/class/infiniband/*/ports/1/gids/0
  [ -e "$1" ] || limited show_gids
}
# lspci prints some megabytes; only addresses, access control, slots and product data leave the node.
pci() {
  out=$(limited 'lspci -vvv'); code=$?
  [ "$code" -eq 0 ] || { printf '%s\n' "$out" | tail -n 3; exit "$code"; }
  printf '%s\n' "$out" |
    sed -n -e 's/^\([0-9a-f:]*:[0-9a-f][0-9a-f]\.[0-7]\) .*/\1/p' \
      -e '/ACSCtl:/p' -e '/<access denied>/p' -e '/Part number:/p' \
      -e '/\[SN\] Serial number:/p' -e '/Physical Slot:/p'
}
# What identifies the machine. The kernel lets only root read serial numbers and the UUID.
dmi() {
  cd "$R/sys/class/dmi/id" 2>/dev/null || absent sys/class/dmi/id
  for file in sys_vendor product_name product_sku product_serial product_uuid; do
    if { read -r value <"$file"; } 2>/dev/null; then printf '%s:%s\n' "$file" "$value"
    elif [ -e "$file" ] && [ ! -r "$file" ]; then printf 'denied %s\n' "$file"; fi
  done
  exit 0
}
bmc() {
  cd "$R/sys/class/ipmi/ipmi0/device/bmc" 2>/dev/null || absent sys/class/ipmi/ipmi0/device/bmc
  grep -sH . firmware_revision manufacturer_id product_id guid /dev/null
  exit 0
}
# The firmware of NICs without an HCA; that of an HCA is in sysfs.
ethtool_i() {
  [ -d "$R/sys/class" ] || absent sys/class
  cd "$R/sys/class/net" 2>/dev/null || exit 0
  for device in */device; do
    [ -e "$device" ] && [ ! -d "$device/infiniband" ] || continue
    out=$(timeout -k 5 20 ethtool -i "${device%/device}" 2>&1); code=$?
    case $code in 124|137) exit "$code" ;; esac
    printf 'nic %s\n' "${device%/device}"
    printf '%s\n' "$out" | sed -n '/^firmware-version:/p'
  done
  exit 0
}

section clock date +%s
section hostname one_line proc/sys/kernel/hostname
section kernel one_line proc/sys/kernel/osrelease
section boot_id one_line proc/sys/kernel/random/boot_id
section kernel_log kernel_log
section machine_id one_line etc/machine-id
section os show etc/os-release
section product one_line sys/class/dmi/id/product_name
section virtual virtual
section bios one_line sys/class/dmi/id/bios_version
section cpus count cpu
section cpus_present one_line sys/devices/system/cpu/present
section cpu_model cpu_model
section memory_mib show proc/meminfo
section numa_nodes count node
section governors governors
section cpu_boost boost
section nvmes nvmes
section nvme_disks nvme_disks
section nvme_smart nvme_smart
section numa_cpus numa_cpus
section numa_balancing show proc/sys/kernel/numa_balancing
section memlock show proc/self/limits
section memlock_config memlock_config
section numa_daemons numa_daemons
section visible visible
section modules show proc/modules
section boot_modules boot_modules
section peer_memory peers
section netdevs netdevs
section irqs irqs
section infiniband hcas
section ofed ofed
section ibv_devinfo limited ibv_devinfo
section ibv_devices limited ibv_devices
section ibdev2netdev limited 'ibdev2netdev -v'
section show_gids gids
section lspci pci
section dmi dmi
section bmc bmc
section ethtool ethtool_i
# The sections that follow are those of the GPU stack.
hung=
