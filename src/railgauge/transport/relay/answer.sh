# Gives agents their answers. Arguments: the folder, then ID CODE STDOUT STDERR for each of them.
# shellcheck shell=sh

cd "$1" || exit
shift
while [ $# -ge 4 ]; do
  printf '%s' "$3" >"out.$1"
  printf '%s' "$4" >"err.$1"
  if [ -p "answer.$1" ]; then echo "$2" 1<>"answer.$1"; fi
  shift 4
done
