// Package config reads the one configuration file of the gateway, with what it
// includes: the settings of every part, the subscriptions, and the region map.
//
// Reading is strict and complete. A key that means nothing, a value that
// cannot be, an endpoint that is missing: each is a [Fault] with file and
// line, what is wrong and what is allowed instead. All faults of a
// configuration are found in one run, and a configuration with a fault is not
// used in any part, so that a running gateway can refuse a bad one and go on
// with what it has. What is merely unwise becomes a warning. Faults never quote
// secrets: token hashes, keys, data source names, or addresses that hold
// credentials.
//
// Each section has a file with its type and its rows. To add a setting, add a
// field and a row: defaults, faults, what needs a restart, the reference and
// the JSON schema follow from the row ([portico/config/setting]).
package config

import (
	"portico/config/files"
	"portico/config/regionmap"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
)

// Config is a whole configuration, checked, with defaults filled in. Sizes are
// bytes. GUIDs and hashes are in lower case, paths are relative to the working
// folder or absolute.
type Config struct {
	Server        Server
	Metadata      Metadata
	Auth          Auth
	Store         Store
	Limits        Limits
	Throttle      Throttle
	Upstream      Upstream
	Health        Health
	Index         Index
	Jobs          Jobs
	Events        Events
	Lists         Lists
	Operations    Operations
	Batch         Batch
	Deployments   Deployments
	Preflight     Preflight
	GroupDelete   GroupDelete
	Move          Move
	Log           Log
	Tracing       Tracing
	Process       Process
	Map           *regions.Map
	Subscriptions []Subscription

	Files    []string // every file that was read, the first one first
	Warnings []Fault  // what is unwise, by file and line
	Sources  Sources  // what it was made of, if [Load] made it

	tree *yamltree.Node // as it was read, for what lists hold
}

// rows are all settings; their values go to c. A section is checked against
// those before it.
func (c *Config) rows(r *files.Reader) []*setting.Setting {
	return append([]*setting.Setting{
		setting.List("include", rule.Rule[string]{Noun: "file pattern"}, "Other files of this configuration, relative to the file that includes them. "+
			"Their lists append to this file's, their sections join; a single value must not stand in two files. They may include others.",
			nil, // taken from the tree before it is read
		).Allowed("paths, or patterns with *, ? and [a-z]"),
		c.Server.rows(r),
		c.Metadata.rows(r),
		c.Auth.rows(r),
		c.Store.rows(r),
		c.Limits.rows(),
		c.Throttle.rows(r, &c.Auth),
		c.Upstream.rows(r),
		c.Health.rows(),
		c.Index.rows(&c.Upstream),
		c.Jobs.rows(),
		c.Events.rows(r),
		c.Lists.rows(r, &c.Limits),
		c.Operations.rows(),
		c.Batch.rows(&c.Limits),
		c.Deployments.rows(),
		c.Preflight.rows(),
		c.GroupDelete.rows(),
		c.Move.rows(),
		c.Log.rows(),
		c.Tracing.rows(r),
		c.Process.rows(),
	}, append(regionmap.Rows(r, &c.Map), subscriptionRows(r, &c.Subscriptions))...)
}

// Defaults returns the settings of a configuration that names none. It has no
// map, public URL or region: these have no default.
func Defaults() Config {
	var c Config
	setting.Reset(c.rows(&files.Reader{}))
	return c
}

// Succeed returns what of the next configuration can take effect while a
// gateway runs with an old one, and the paths of the settings that differ but
// need a restart: they stay as they were.
//
// A restart is needed by what other parts are made of once: listeners, the
// store and what it promises to other gateways, and bounds of memory that all
// requests share. The mode of authentication is among them since it was held
// to the listeners that there are.
func Succeed(old, next *Config) (effective *Config, restart []string) {
	c := *next
	return &c, setting.Keep(old.rows(&files.Reader{}), c.rows(&files.Reader{}))
}
