#!/bin/sh
# Builds an image of the Containerfile from the wheel in dist/: image/build.sh STAGE [OPTION...]
# STAGE is control or node, the options are those of podman build. pip uses the settings that it has
# on this machine; none of them stays in the image.
set -eu
stage=$1
shift
cd "$(dirname "$0")/.."
settings=$(mktemp -d)
trap 'rm -rf "$settings"' EXIT
trap 'exit 1' HUP INT TERM
"${PYTHON:-python3}" image/pip_settings.py "$settings"
# podman would take a step from its cache although what is mounted there has changed.
podman build --layers=false --quiet --network=host --target="$stage" --tag="railgauge-$stage" \
	--build-context="pip=$settings" "$@" .
