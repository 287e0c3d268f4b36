package config

import (
	"portico/config/files"
	"portico/config/regionmap"
	"portico/config/setting"
	"portico/config/yamltree"
)

// Fault is one thing that is wrong with a configuration, or unwise.
type Fault = yamltree.Fault

// Faults are all faults of one configuration, by file and line. It is the
// error type of [Load].
type Faults = yamltree.Faults

// Sources are the files that a configuration was made of.
type Sources = files.Sources

// Load reads a configuration file and what it includes. The error, if any, is
// a [Faults] with everything that is wrong.
func Load(path string) (*Config, error) {
	c, _, err := LoadSources(path)
	return c, err
}

// LoadSources is Load; it returns the files that were read even where something
// is wrong with them.
func LoadSources(path string) (*Config, Sources, error) {
	r := files.FromDisk()
	c, err := finish(r, r.Read(path))
	return c, r.Sources, err
}

func finish(r *files.Reader, root *yamltree.Node) (*Config, error) {
	if r.Incomplete {
		return nil, r.Err()
	}
	c := read(r, root)
	if err := r.Err(); err != nil {
		return nil, err
	}
	c.Warnings = r.Warnings()
	c.Files, c.Sources, c.tree = r.Names, r.Sources, root
	return c, nil
}

// read makes a Config of a merged tree. It is complete only if nothing was
// reported.
func read(r *files.Reader, tree *yamltree.Node) *Config {
	c := &Config{}
	rows := c.rows(r)
	setting.Reset(rows)
	root := setting.Read(&r.Report, tree, rows)

	server := root.Below("server")
	checkAccess(server, root.Below("auth"), c)
	if region := server.Get("region"); region != nil && c.Server.Region != "" {
		regionmap.CheckRegion(&r.Report, region, "server.region", c.Server.Region, c.Map)
	}
	return c
}

// AdminAddress returns the address of the admin listener of a gateway that was
// started with the configuration at path. Other faults that the configuration has
// got since do not matter. Where the file cannot be read or is no YAML, it returns
// the default address and an error.
func AdminAddress(path string) (string, error) {
	r := files.FromDisk()
	root := r.Read(path)
	if root == nil {
		return Defaults().Server.Admin, r.Err()
	}
	return read(r, root).Server.Admin, nil
}
