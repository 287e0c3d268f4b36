package config

import "time"

// standing is a setting that holds from the start of the gateway to its end.
type standing struct {
	path string
	// keep puts the old value in the place of the new one, and reports whether
	// they differ.
	keep func(old, next *Config) bool
}

// stands makes a standing setting of where it is kept.
func stands[T comparable](path string, of func(*Config) *T) standing {
	return standing{path, func(old, next *Config) bool {
		was, is := of(old), of(next)
		differs := *was != *is
		*is = *was
		return differs
	}}
}

// standings are what other parts are made of once: listeners, the store and
// what it promises to other gateways, and bounds of memory that is shared by
// all requests. How callers are known is among them since it was held to the
// listeners that there are.
func standings() []standing {
	return []standing{
		stands("server.listen", func(c *Config) *string { return &c.Server.Listen }),
		stands("server.admin", func(c *Config) *string { return &c.Server.Admin }),
		{"server.tls", keepTLS},
		stands("server.connections", func(c *Config) *Connections { return &c.Server.Connections }),
		{"server.adminToken", keepAdminToken},
		{"auth.mode", keepAuth},
		stands("store", func(c *Config) *Store { return &c.Store }),
		stands("limits.contentMemory", func(c *Config) *int64 { return &c.Limits.ContentMemory }),
		stands("limits.callerShare", func(c *Config) *float64 { return &c.Limits.CallerShare }),
		stands("limits.answerBody", func(c *Config) *int64 { return &c.Limits.AnswerBody }),
		stands("limits.resourcesPerTypeAndGroup", func(c *Config) *int { return &c.Limits.ResourcesPerTypeAndGroup }),
		stands("limits.groupsPerSubscription", func(c *Config) *int { return &c.Limits.GroupsPerSubscription }),
		stands("upstream.callTimeout", func(c *Config) *time.Duration { return &c.Upstream.CallTimeout }),
		stands("upstream.readsPerEndpoint", func(c *Config) *int { return &c.Upstream.ReadsPerEndpoint }),
		stands("upstream.callsPerEndpoint", func(c *Config) *int { return &c.Upstream.CallsPerEndpoint }),
		stands("index.sendWithin", func(c *Config) *time.Duration { return &c.Index.SendWithin }),
		stands("index.callMargin", func(c *Config) *time.Duration { return &c.Index.CallMargin }),
		stands("index.lateWriteWindow", func(c *Config) *time.Duration { return &c.Index.LateWriteWindow }),
		stands("index.tombstones", func(c *Config) *time.Duration { return &c.Index.Tombstones }),
		stands("index.cacheTTL", func(c *Config) *time.Duration { return &c.Index.CacheTTL }),
		stands("index.cacheEntries", func(c *Config) *int { return &c.Index.CacheEntries }),
		stands("index.pollFloor", func(c *Config) *time.Duration { return &c.Index.PollFloor }),
		stands("jobs.lease", func(c *Config) *time.Duration { return &c.Jobs.Lease }),
		stands("lists.memory", func(c *Config) *int64 { return &c.Lists.Memory }),
		stands("lists.totalMemory", func(c *Config) *int64 { return &c.Lists.TotalMemory }),
		stands("operations.records", func(c *Config) *time.Duration { return &c.Operations.Records }),
		stands("batch.memory", func(c *Config) *int64 { return &c.Batch.Memory }),
		stands("batch.totalMemory", func(c *Config) *int64 { return &c.Batch.TotalMemory }),
		stands("log.audit", func(c *Config) *string { return &c.Log.Audit }),
	}
}

// keepTLS lets the files of a certificate change, not whether there is one.
func keepTLS(old, next *Config) bool {
	was, is := old.Server.TLS, next.Server.TLS
	if (was.Cert == "") == (is.Cert == "") && was.Terminated == is.Terminated {
		return false
	}
	next.Server.TLS = was
	return true
}

// keepAdminToken lets the tokens change, but not go: the admin listener may be
// beyond loopback.
func keepAdminToken(old, next *Config) bool {
	if len(old.Server.AdminTokens) == 0 || len(next.Server.AdminTokens) > 0 {
		return false
	}
	next.Server.AdminTokens = old.Server.AdminTokens
	return true
}

// keepAuth lets tokens come and go, but not the need of one.
func keepAuth(old, next *Config) bool {
	if old.Auth.Mode == next.Auth.Mode {
		return false
	}
	next.Auth = old.Auth
	return true
}

// Succeed returns what of the next configuration can take effect while a
// gateway runs with an old one, and the paths of the settings that differ but
// need a restart: they stay as they were.
func Succeed(old, next *Config) (effective *Config, restart []string) {
	c := *next
	for _, s := range standings() {
		if s.keep(old, &c) {
			restart = append(restart, s.path)
		}
	}
	return &c, restart
}
