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
	return setting.Mapping("metadata", "Content of `/metadata/endpoints`, for clients of this cloud.",
		setting.Value("name", &m.Name, rule.Text(), "Portico", "The name of the cloud."),
		setting.Value("loginEndpoint", &m.LoginEndpoint, rule.WebURL(), "",
			"Where clients get tokens, at paths below it. It is sent without a trailing slash."),
		setting.Value("graphEndpoint", &m.GraphEndpoint, rule.WebURL(), "",
			"The URL of Microsoft Graph, the directory of users and applications. Terraform's provider azurerm refuses a cloud without it or "+
				"without the two suffixes."),
		setting.List("audiences", rule.Text(), "Audiences of the tokens that clients request.",
			func(at *yamltree.Node, audience string) {
				if audiences.Add(at, audience, audience) {
					m.Audiences = append(m.Audiences, audience)
				}
			}).Default("`server.publicURL` alone"),
		setting.Value("tenant", &m.Tenant, rule.Tenant(), "",
			"The tenant to which clients log in by default. Terraform takes a cloud with a tenant other than `common` for Azure Stack, which it "+
				"refuses.").
			Default("`common`"),
		setting.Mapping("suffixes", "Host name suffixes of the cloud's other services. Portico does not call them.",
			setting.Value("storage", &m.Suffixes.Storage, rule.HostName(), "", "Suffix of storage accounts."),
			setting.Value("keyVaultDns", &m.Suffixes.KeyVault, rule.HostName(), "", "Suffix of key vaults."),
		),
	)
}
