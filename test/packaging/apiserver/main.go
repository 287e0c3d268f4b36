// Command apiserver is the API server of Kubernetes, as its own main makes it. The tests
// of the chart run it with an etcd and nothing else: what it takes, a cluster takes.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
