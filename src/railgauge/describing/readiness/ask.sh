# What a login finds on its node, in the frame of sections.sh, which changes nothing. Quick sections
# come first: what hangs later takes only its own answer away. Comment lines are not sent.
# Set before this text: NAMES, the programs that a run needs, and BECOME, words that become root.
# Where no login set SHELL (a service, a container), commands are run by sh.
who() { printf '%s\n' "${SHELL:-sh}"; id -un; }
bash_there() { command -v bash >/dev/null; }
# What is started as root are env, timeout and sh, so that a right to run true is not enough.
root() {
  if [ "$(id -u)" = 0 ]; then echo root; exit 0; fi
  for words in "$BECOME" 'sudo -n' 'doas -n'; do
    # shellcheck disable=SC2086 # its words
    { [ -n "$words" ] && command -v ${words%% *} >/dev/null; } || continue
    # shellcheck disable=SC2086
    if output=$(timeout -k 1 5 $words env timeout 4 sh -c : 2>&1 </dev/null); then
      printf 'works %s\n' "$words"
    else
      printf 'refused %s: %s\n' "$words" "$(printf '%s\n' "$output" | tail -n 1)"
    fi
    exit 0
  done
  echo none
}
programs() {
  for name in $NAMES; do
    at=$(command -v "$name" 2>/dev/null) && printf '%s %s\n' "$name" "$at"
  done
  exit 0
}
# Functions of a device that another one is the physical device of (SR-IOV) are not listed.
bus() {
  cd "$R/sys/bus/pci/devices" 2>/dev/null || exit 0
  for one in *; do
    [ ! -e "$one/physfn" ] && read -r class <"$one/class" || continue
    case $class in 0x0[23]* | 0x12*) read -r vendor <"$one/vendor" && echo "$one $vendor $class" ;; esac
  done 2>/dev/null
  exit 0
}
# A folder, its free MiB, whether it is writable, the options of its file system.
disks() {
  for folder in "${TMPDIR:-/tmp}" /tmp /dev/shm /var/tmp; do
    [ -d "$folder" ] || continue
    free=$(timeout -k 1 3 df -Pk "$folder" 2>/dev/null | awk 'NR == 2 { print int($4 / 1024), $6 }')
    [ -n "$free" ] || continue
    [ "$(timeout -k 1 3 df -Pi "$folder" 2>/dev/null | awk 'NR == 2 { print $4 }')" != 0 ] || free="0 ${free#* }"
    if [ -w "$folder" ]; then may=yes; else may=no; fi
    with=$(awk -v on="${free#* }" '$2 == on { found = $4 } END { print found }' /proc/mounts 2>/dev/null)
    printf '%s %s %s %s\n' "$folder" "${free%% *}" "$may" "${with:-unknown}"
  done
  exit 0
}
addresses() {
  # shellcheck disable=SC2086 # its words: the third is the address that the login came to
  set -- ${SSH_CONNECTION-}
  [ -z "${3-}" ] || printf '%s\n' "$3"
  if command -v ip >/dev/null; then
    ip -o addr show scope global 2>/dev/null |
      awk '$2 !~ /^(docker|virbr|cni|veth|br-|flannel|cali)/ { print $4 }'
  else
    hostname -I 2>/dev/null | tr ' ' '\n'
  fi
  exit 0
}
absent_programs() {
  for name in $NAMES; do command -v "$name" >/dev/null 2>&1 || printf '%s ' "$name"; done
}
# Only where a program is missing: the folders in which sites install, and what they have to load.
folders() {
  left=$(absent_programs)
  [ -n "$left" ] || exit 0
  for folder in /usr/sbin /sbin /usr/local/sbin /usr/local/bin /usr/local/*/bin /usr/local/*/build /snap/bin \
    /opt/* /opt/*/bin /opt/*/build /opt/*/sbin /opt/*/*/bin /opt/*/*/build /opt/*/* /opt/*/samples/*/* \
    /opt/*/samples/*/*/* /usr/lib64/*/bin /usr/lib/*/bin /usr/mpi/*/*/bin "$HOME"/bin "$HOME"/*/bin "$HOME"/*/build; do
    [ -d "$folder" ] || continue
    for name in $left; do
      if [ -f "$folder/$name" ] && [ -x "$folder/$name" ]; then printf '%s %s\n' "$name" "$folder"; fi
    done
  done
  exit 0
}
# A bash that sshd has started reads ~/.bashrc, which may print, unless asked not to (--norc).
profile() {
  left=$(absent_programs)
  { [ -n "$left" ] && command -v bash >/dev/null; } || exit 0
  for file in /etc/profile.d/*.sh; do
    [ -r "$file" ] || continue
    # shellcheck disable=SC2016,SC2086 # for the inner shell; words
    timeout -k 1 3 bash --norc -c '. "$0" >/dev/null 2>&1 || exit 0
      for name in "$@"; do at=$(command -v "$name") && printf "%s %s %s\n" "$name" "$at" "$0"; done' "$file" $left
  done </dev/null 2>/dev/null
  exit 0
}
modules() {
  left=$(absent_programs)
  { [ -n "$left" ] && command -v bash >/dev/null; } || exit 0
  for file in /etc/profile.d/modules.sh /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh \
    /usr/share/lmod/lmod/init/bash /usr/share/modules/init/bash /usr/share/Modules/init/bash; do
    [ -r "$file" ] || continue
    # shellcheck disable=SC2016
    timeout -k 1 12 bash --norc -c '. "$0" >/dev/null 2>&1
      for module in $(module -t avail 2>&1 | sed "s/(.*//" | grep -Ei "$1" | head -n 12); do
        (module load "$module" >/dev/null 2>&1 || exit 0
        for name in $2; do at=$(command -v "$name") && printf "%s %s %s %s\n" "$name" "$at" "$0" "$module"; done)
      done' "$file" 'hpcx|mpi|[nrm]ccl|cuda|nvhpc|rocm|maca|perftest|ofed|iperf|nvbandwidth|transferbench' "$left"
    exit 0
  done </dev/null 2>/dev/null
  exit 0
}
section who who
section bash bash_there
section root root
section programs programs
section bus bus
section disks disks
section addresses addresses
section folders folders
section profile profile
section modules modules
