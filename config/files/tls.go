package files

import (
	"fmt"

	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
)

// TLSRows returns the settings for TLS to providers. otherCA and otherPair describe the defaults.
func TLSRows(r *Reader, t *regions.TLS, doc, otherCA, otherPair string) *setting.Setting {
	return setting.Mapping("tls", doc,
		setting.Value("ca", &t.CA, rule.PEMFile(), "", "Certificate authorities that must have issued the providers' certificates.").
			Default(otherCA),
		setting.Value("cert", &t.Cert, rule.PEMFile(), "",
			"The gateway's client certificate, followed by its intermediate certificates, for providers that ask for one.").Default(otherPair),
		setting.Value("key", &t.Key, rule.PEMFile(), "", "The private key of the certificate.").Default(otherPair),
	).Check(func(o *setting.Object) {
		CheckPEM(r, o, "ca", &t.CA)
		CheckPEMPair(r, o, &t.Cert, &t.Key)
	})
}

// CheckPEM resolves the path of a PEM file, and reports a file that cannot be read.
func CheckPEM(r *Reader, o *setting.Object, key string, path *string) {
	if n := o.Valid(key); n != nil {
		*path = r.NamedFile(n, yamltree.Join(o.Path, key), *path)
	}
}

// CheckPEMPair checks cert and key like CheckPEM. It reports a fault if only one of them is given.
func CheckPEMPair(r *Reader, o *setting.Object, cert, key *string) {
	CheckPEM(r, o, "cert", cert)
	CheckPEM(r, o, "key", key)
	hasCert, hasKey := o.Get("cert") != nil, o.Get("key") != nil
	if hasCert != hasKey {
		present, missing := "cert", "key"
		if hasKey {
			present, missing = missing, present
		}
		o.Fault(o.At(present), fmt.Sprintf("%s has %s but no %s", o.Path, present, missing), "cert and key together")
	}
}
