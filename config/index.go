package config

import (
	"time"

	"portico/config/rule"
	"portico/config/setting"
)

// Index configures how the index of tracked resources is kept correct.
type Index struct {
	SendWithin      time.Duration
	CallMargin      time.Duration
	LateWriteWindow time.Duration
	Tombstones      time.Duration
	AskTimeout      time.Duration
	CacheTTL        time.Duration // 0: no cache
	CacheEntries    int
	ScopeEntries    int
	LostAfter       time.Duration
	FollowLimit     time.Duration
	FollowRecheck   time.Duration
	VersionFallback time.Duration
	PollFloor       time.Duration
	SweepInterval   time.Duration // 0: never
	EndpointAbsence time.Duration
}

func (x *Index) rows(u *Upstream) *setting.Setting {
	return setting.Mapping("index", "The times by which the index of tracked resources is kept true.",
		setting.Value("sendWithin", &x.SendWithin, rule.PositiveDuration(), 5*time.Second,
			"From the record of a write to the first byte of its call; a call that would leave later is not sent. At most `upstream.callTimeout` and "+
				"`index.callMargin` together.").RestartOnly(),
		setting.Value("callMargin", &x.CallMargin, rule.Duration(), 10*time.Second,
			"What is added to `upstream.callTimeout` until a call counts as ended; one that still sends its content then is broken off.").RestartOnly(),
		setting.Value("lateWriteWindow", &x.LateWriteWindow, rule.PositiveDuration(), 5*time.Minute,
			"How long a provider may still act on a write that it has not answered.").RestartOnly(),
		setting.Value("tombstones", &x.Tombstones, rule.PositiveDuration(), 24*time.Hour,
			"How long a removed resource is remembered.").RestartOnly(),
		setting.Value("askTimeout", &x.AskTimeout, rule.PositiveDuration(), 2*time.Second,
			"For one question to a provider on a client's time; and how long the `PUT` of a lock waits for calls under way."),
		setting.Value("cacheTTL", &x.CacheTTL, rule.Duration(), time.Minute,
			"How long the location of a resource, and a subscription, a group, a registration or the roles of a principal, is taken from memory, and how "+
				"long memory answers without the store; `0s` turns that off.").RestartOnly(),
		setting.Value("cacheEntries", &x.CacheEntries, rule.Count(), 1<<18,
			"How many locations are kept in memory, each about 250 bytes.").RestartOnly(),
		setting.Value("scopeEntries", &x.ScopeEntries, rule.Count(), 1<<16,
			"How many subscriptions, groups, registrations and principals with their roles are kept in memory, of each, each about 1 KB.").RestartOnly(),
		setting.Value("lostAfter", &x.LostAfter, rule.PositiveDuration(), time.Minute,
			"For how long, and at least three times, Portico's own polls of an operation are answered 404 or 410 until it counts as lost. Providers that "+
				"keep copies answer so for a while after they accepted a write."),
		setting.Value("followLimit", &x.FollowLimit, rule.PositiveDuration(), 24*time.Hour,
			"For how long an operation is followed closely."),
		setting.Value("followRecheck", &x.FollowRecheck, rule.PositiveDuration(), time.Hour,
			"How often it is looked at after that."),
		setting.Value("versionFallback", &x.VersionFallback, rule.PositiveDuration(), 24*time.Hour,
			"After a provider has refused for this long what the gateway asks about a resource by itself (400 and the like), it asks with the newest "+
				"api-version of the type instead of the one by which the resource was written."),
		setting.Value("pollFloor", &x.PollFloor, rule.PositiveDuration(), time.Second,
			"The least time between two polls of one operation, whatever its provider asks for.").RestartOnly(),
		setting.Value("sweepInterval", &x.SweepInterval, rule.Duration(), 6*time.Hour,
			"How often index and providers are compared as a whole, once for all gateways; `0s`: never."),
		setting.Value("endpointAbsence", &x.EndpointAbsence, rule.PositiveDuration(), time.Hour,
			"How long a notice of a subscription waits for an endpoint that the region map lacks, as another gateway's map may have it. Then the erasing "+
				"of a deleted subscription goes on without it; the endpoint is told when the map has its region again, whenever that is."),
	).Check(func(o *setting.Object) {
		if end := u.CallTimeout + x.CallMargin; x.SendWithin > end {
			// An intent must not end while its call may still be sent.
			o.Fault(o.At("sendWithin"), "index.sendWithin is longer than upstream.callTimeout and index.callMargin together",
				"at most "+end.String())
		}
	})
}
