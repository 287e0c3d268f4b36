// Package packaging runs what Portico is deployed with: the unit by a systemd that boots
// in a container, and the image that buildah builds. It needs root, and what prepare.sh
// installs; [make packaging] runs it.
package packaging
