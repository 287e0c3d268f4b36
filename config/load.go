package config

import (
	"portico/config/files"
	"portico/config/regionmap"
	"portico/config/setting"
	"portico/config/yamltree"
)

// Fault is an error or a warning about a configuration.
type Fault = yamltree.Fault

// Faults are all faults of a configuration, sorted by file and line. It is the error type of
// [Load].
type Faults = yamltree.Faults

// Sources is the state of the files on which a configuration depends.
type Sources = files.Sources

// Load reads a configuration file and its includes. The error is a [Faults] with all faults.
func Load(path string) (*Config, error) {
	c, _, err := LoadSources(path)
	return c, err
}

// LoadSources does what Load does, and returns the files that were read even if there are faults.
func LoadSources(path string) (*Config, Sources, error) {
	r := files.FromDisk()
	c, err := finishLoad(r, r.Read(path))
	return c, r.Sources, err
}

func finishLoad(r *files.Reader, root *yamltree.Node) (*Config, error) {
	if r.Incomplete {
		return nil, r.Err()
	}
	c := readTree(r, root)
	if err := r.Err(); err != nil {
		return nil, err
	}
	c.Warnings = r.Warnings()
	c.Files, c.Sources, c.tree = r.Names, r.Sources, root
	return c, nil
}

// readTree reads a Config from a merged tree. It is complete only if no fault was reported.
func readTree(r *files.Reader, tree *yamltree.Node) *Config {
	c := &Config{}
	rows := c.rows(r)
	setting.Reset(rows)
	root := setting.Read(&r.Report, tree, rows)

	server := root.Child("server")
	checkAccess(server, root.Child("auth"), c)
	if region := server.Get("region"); region != nil && c.Server.Region != "" {
		regionmap.CheckRegion(&r.Report, region, "server.region", c.Server.Region, c.Map)
	}
	return c
}

// AdminAddress returns the address of the admin listener of a gateway that was started with the
// configuration at path, even if the configuration has other faults by now. If the file cannot be
// read or is not valid YAML, it returns the default address and an error.
func AdminAddress(path string) (string, error) {
	r := files.FromDisk()
	root := r.Read(path)
	if root == nil {
		return Defaults().Server.Admin, r.Err()
	}
	return readTree(r, root).Server.Admin, nil
}
