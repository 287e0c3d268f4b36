package config

import (
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/internal/pemfile"
)

// ClientCertificates are the accepted client certificates and their principals. If CA is empty,
// clients are not asked for a certificate.
type ClientCertificates struct {
	CA         string // a PEM file
	CRL        string // a PEM file, or ""
	Principals []CertificatePrincipal
}

// CertificatePrincipal is a caller, identified by either its certificate's subject or one of its
// alternative names.
type CertificatePrincipal struct {
	Subject, SAN             string
	TenantID, ObjectID, Name string
	AppID                    string
}

func (c *ClientCertificates) rows(r *files.Reader) *setting.Setting {
	names := r.Unique("the name of a certificate's owner")
	return setting.Mapping("clientCertificates", "Callers that authenticate with a client certificate, in the TLS handshake of the public "+
		"listener.",
		setting.Required("ca", &c.CA, rule.PEMFile(), "Certificate authorities that must have issued the callers' certificates. The file is "+
			"reloaded when it changes."),
		setting.Value("crl", &c.CRL, rule.PEMFile(), "",
			"Certificate revocation lists, one complete and signed list per authority in `ca`. The file is reloaded when it changes. If the list "+
				"of a certificate's issuer has expired or is missing, the certificate is refused with 503.").
			Default("none: revocation is not checked"),
		setting.Mappings("principals", "Callers, by their certificates.", (*CertificatePrincipal).rows,
			func(o *setting.Object, p CertificatePrincipal) {
				if (p.Subject == "") == (p.SAN == "") && !o.Broken {
					o.Fault(o.At("san"), o.Path+" needs either subject or san", "one of them")
					return
				}
				if _, err := pemfile.ParseSubject(p.Subject); p.Subject != "" && err != nil {
					o.Fault(o.At("subject"), o.Path+".subject is not a valid subject: "+err.Error(),
						"what openssl x509 -noout -subject -nameopt RFC2253 prints, such as CN=ann,O=Contoso")
					return
				}
				if names.Add(o.At("subject", "san"), p.Subject+"\n"+p.SAN, p.Subject+p.SAN) {
					c.Principals = append(c.Principals, p)
				}
			}).AtLeastOne("at least one {subject or san, tenantId, objectId}"),
	).Check(func(o *setting.Object) {
		files.CheckPEM(r, o, "ca", &c.CA)
		files.CheckPEM(r, o, "crl", &c.CRL)
	}).IfGiven().Default("none")
}

func (p *CertificatePrincipal) rows() []*setting.Setting {
	return []*setting.Setting{
		setting.Value("subject", &p.Subject, rule.Text(), "",
			"The certificate's complete subject as `openssl x509 -noout -subject -nameopt RFC2253` prints it, such as `CN=ann,O=Contoso`.").
			Default("none; either this or `san` is required"),
		setting.Value("san", &p.SAN, rule.Text(), "", "A subject alternative name of the certificate: a DNS name, a URI, an e-mail address or an "+
			"IP address.").Default("none"),
		setting.Required("tenantId", &p.TenantID, rule.GUID(), "The caller's tenant."),
		setting.Required("objectId", &p.ObjectID, rule.GUID(), "The caller's object id."),
		setting.Value("name", &p.Name, rule.Text(), "", "The caller's name, as sent to providers."),
		setting.Value("appId", &p.AppID, rule.GUID(), "", "The id of the caller's application, as sent to providers."),
	}
}
