package config

import (
	"fmt"

	"portico/config/files"
	"portico/config/setting"
	"portico/config/yamltree"
)

// checkPEM resolves the path of a PEM file, and reports one that cannot be read.
func checkPEM(r *files.Reader, o *setting.Object, key string, path *string) {
	if n := o.Right(key); n != nil {
		*path = r.NamedFile(n, yamltree.Join(o.Path, key), *path)
	}
}

// checkKeyPair is checkPEM for cert and key, of which both or neither must be
// there.
func checkKeyPair(r *files.Reader, o *setting.Object, cert, key *string) {
	checkPEM(r, o, "cert", cert)
	checkPEM(r, o, "key", key)
	hasCert, hasKey := o.Get("cert") != nil, o.Get("key") != nil
	if hasCert != hasKey {
		present, missing := "cert", "key"
		if hasKey {
			present, missing = missing, present
		}
		o.Fault(o.At(present), fmt.Sprintf("%s has %s but no %s", o.Path, present, missing), "cert and key together")
	}
}
