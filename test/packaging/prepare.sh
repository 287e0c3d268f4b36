#!/usr/bin/env bash
# Installs what test/packaging needs, and says what is missing:
#
#   systemd-container  systemd-nspawn boots the systemd that runs the unit
#   buildah            builds the image, without a daemon
#   busybox-static     the shell and the tools of the image that the build begins with
#   etcd-server        keeps what the API server of Kubernetes takes
#
# No service is started.
set -euo pipefail
missing=()
command -v systemd-nspawn >/dev/null || missing+=(systemd-container)
command -v buildah >/dev/null || missing+=(buildah)
command -v busybox >/dev/null || missing+=(busybox-static)
command -v etcd >/dev/null || missing+=(etcd-server)
((${#missing[@]})) || exit 0
((EUID == 0)) || { echo "prepare: install as root: apt-get install ${missing[*]}" >&2; exit 1; }
echo "prepare: installing ${missing[*]}"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
