package config

import (
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
)

// Metadata is the content of /metadata/endpoints. Members that are not configured are empty.
type Metadata struct {
	Name          string
	LoginEndpoint string
	GraphEndpoint string
	Audiences     []string
	Tenant        string // a GUID, "common" or "organizations"
	Suffixes      Suffixes
}

// Suffixes are the host name suffixes of the cloud's other services.
type Suffixes struct {
	Storage, KeyVault string
}

func (m *Metadata) rows(r *files.Reader) *setting.Setting {
	audiences := r.Unique("metadata.audiences:")
	return setting.Mapping("metadata", "What `/metadata/endpoints` tells clients of this cloud.",
		setting.Value("name", &m.Name, rule.Text(), "Portico", "The name of the cloud."),
		setting.Value("loginEndpoint", &m.LoginEndpoint, rule.WebURL(), "",
			"Where clients get their tokens, at paths below it. They are told it without a slash at its end."),
		setting.Value("graphEndpoint", &m.GraphEndpoint, rule.WebURL(), "",
			"Where clients find the directory of users and applications (Microsoft Graph). Terraform's provider azurerm refuses a cloud without, and one "+
				"without the two suffixes."),
		setting.List("audiences", rule.Text(), "The audiences that clients ask tokens for.",
			func(at *yamltree.Node, audience string) {
				if audiences.Add(at, audience, audience) {
					m.Audiences = append(m.Audiences, audience)
				}
			}).Default("`server.publicURL` alone"),
		setting.Value("tenant", &m.Tenant, rule.Tenant(), "",
			"The tenant that clients log in to unless they name one. Terraform takes a cloud with another than `common` for Azure Stack, which it refuses.").
			Default("`common`"),
		setting.Mapping("suffixes", "How the host names of the cloud's other services end. Portico calls none of them.",
			setting.Value("storage", &m.Suffixes.Storage, rule.HostName(), "", "Those of storage accounts."),
			setting.Value("keyVaultDns", &m.Suffixes.KeyVault, rule.HostName(), "", "Those of key vaults."),
		),
	)
}
