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
	return setting.Mapping("index", "Times that keep the index of tracked resources correct.",
		setting.Value("sendWithin", &x.SendWithin, rule.PositiveDuration(), 5*time.Second,
			"Maximum time from recording a write to the first byte of its call. A later call is not sent. At most the sum of "+
				"`upstream.callTimeout` and `index.callMargin`.").RestartOnly(),
		setting.Value("callMargin", &x.CallMargin, rule.Duration(), 10*time.Second,
			"Time added to `upstream.callTimeout` until a call is considered ended. A call that is still sending its body then is aborted.").RestartOnly(),
		setting.Value("lateWriteWindow", &x.LateWriteWindow, rule.PositiveDuration(), 5*time.Minute,
			"How long a provider may still act on a write that it has not answered.").RestartOnly(),
		setting.Value("tombstones", &x.Tombstones, rule.PositiveDuration(), 24*time.Hour,
			"How long a deleted resource is remembered.").RestartOnly(),
		setting.Value("askTimeout", &x.AskTimeout, rule.PositiveDuration(), 2*time.Second,
			"Timeout of a question to a provider while a client waits. Also how long the `PUT` of a lock waits for calls in progress."),
		setting.Value("cacheTTL", &x.CacheTTL, rule.Duration(), time.Minute,
			"How long the location of a resource, a subscription, a group, a registration, or a principal's roles are cached, and how long the "+
				"cache is used without the store; `0s` disables caching.").RestartOnly(),
		setting.Value("cacheEntries", &x.CacheEntries, rule.Count(), 1<<18,
			"Maximum number of cached locations, each about 250 bytes.").RestartOnly(),
		setting.Value("scopeEntries", &x.ScopeEntries, rule.Count(), 1<<16,
			"Maximum number of cached subscriptions, and as many groups, registrations, and principals with their roles, each about 1 KB.").RestartOnly(),
		setting.Value("lostAfter", &x.LostAfter, rule.PositiveDuration(), time.Minute,
			"How long, and at least three times, Portico's own polls of an operation must be answered 404 or 410 before the operation is "+
				"considered lost. Providers with replicas may answer so for a while after they accepted a write."),
		setting.Value("followLimit", &x.FollowLimit, rule.PositiveDuration(), 24*time.Hour,
			"How long an operation is polled frequently."),
		setting.Value("followRecheck", &x.FollowRecheck, rule.PositiveDuration(), time.Hour,
			"How often it is polled after that."),
		setting.Value("versionFallback", &x.VersionFallback, rule.PositiveDuration(), 24*time.Hour,
			"If a provider rejects the gateway's own questions about a resource for this long (400 and the like), the gateway asks with the "+
				"type's newest api-version instead of the one by which the resource was written."),
		setting.Value("pollFloor", &x.PollFloor, rule.PositiveDuration(), time.Second,
			"Minimum time between two polls of an operation, regardless of what its provider asks for.").RestartOnly(),
		setting.Value("sweepInterval", &x.SweepInterval, rule.Duration(), 6*time.Hour,
			"How often the index is compared completely with the providers, once for all gateways; `0s`: never."),
		setting.Value("endpointAbsence", &x.EndpointAbsence, rule.PositiveDuration(), time.Hour,
			"How long a subscription's notification waits for an endpoint that is missing in the region map, because another gateway's map may "+
				"have it. After that, the erasure of a deleted subscription continues without it. The endpoint is notified once the map has its "+
				"region again."),
	).Check(func(o *setting.Object) {
		if end := u.CallTimeout + x.CallMargin; x.SendWithin > end {
			// An intent must not end while its call may still be sent.
			o.Fault(o.At("sendWithin"), "index.sendWithin is longer than upstream.callTimeout and index.callMargin together",
				"at most "+end.String())
		}
	})
}
