// Package config reads the configuration of the gateway: one file and the files it includes, with
// the settings of every part, the subscriptions, and the region map.
//
// Reading is strict and complete. An unknown key, an invalid value, or a missing endpoint is a
// [Fault] with file and line, the problem, and what is allowed instead. One run finds all faults. A
// configuration with a fault is not used at all, so a running gateway rejects it and continues with
// its present one. Unwise settings become warnings. Faults never quote secrets: token hashes, keys,
// data source names, or addresses with credentials.
//
// Each section has a file with its type and its rows. To add a setting, add a field and a row.
// Defaults, faults, restarts, the reference and the JSON schema follow from the row
// ([portico/config/setting]).
package config

import (
	"portico/config/files"
	"portico/config/regionmap"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
)

// Config is a complete, checked configuration with defaults filled in. Sizes are in bytes. GUIDs
// and hashes are in lower case, paths are absolute or relative to the working directory.
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

	Files    []string // every file that was read, the main file first
	Warnings []Fault  // by file and line
	Sources  Sources  // set by [Load]

	tree *yamltree.Node // as read, for the contents of lists
}

// rows returns all settings, whose values are stored in c. The check of a section may use the
// sections before it.
func (c *Config) rows(r *files.Reader) []*setting.Setting {
	return append([]*setting.Setting{
		setting.List("include", rule.Rule[string]{Noun: "file pattern"}, "Further files of this configuration, relative to the file that includes "+
			"them. Their lists are appended and their sections merged; a single value must not be in two files. Included files may include others.",
			nil, // Reader.Read has taken it from the tree
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

// Defaults returns the configuration of an empty file. It has no map, public URL or region, because
// these have no default.
func Defaults() Config {
	var c Config
	setting.Reset(c.rows(&files.Reader{}))
	return c
}

// MergeForReload returns the part of the next configuration that can take effect while a gateway runs with
// the old one, and the paths of the settings that need a restart and therefore keep their old
// values.
//
// A setting needs a restart if other parts use it only once: listeners, the store and what it
// promises to other gateways, and memory limits shared by all requests. So does the authentication
// mode, because it was checked against the existing listeners.
func MergeForReload(old, next *Config) (effective *Config, restart []string) {
	c := *next
	return &c, setting.KeepRestartOnly(old.rows(&files.Reader{}), c.rows(&files.Reader{}))
}
