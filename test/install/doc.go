// Package install holds no code but tests: they check what Portico is deployed
// with, as far as that can be done without a cluster, a registry or an init
// system. The chart is rendered by Helm's own engine, the Dockerfile read by
// BuildKit's, the Compose file by Compose's, the unit by systemd-analyze; what
// comes out is held to Kubernetes' schemas, and each configuration in it is
// loaded as the program loads it. With the tag apiserver, a real API server takes
// the chart as well (make packaging). It is a module of its own, so that who builds
// or imports Portico need not fetch all that.
//
// testdata/kubernetes-1.30.json is the part of Kubernetes' published OpenAPI
// document that the chart's kinds need, without its prose, and with unknown
// fields refused as the API server's strict validation refuses them.
package install
