package config

import (
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
)

// Throttle limits how many requests callers may send. The limits apply to all replicas together.
type Throttle struct {
	Enabled bool
	ThrottleLimits
	Subscriptions []SubscriptionThrottle
}

// ThrottleLimits are the limits of a caller, by kind of request. A whole subscription gets a
// multiple of them.
type ThrottleLimits struct {
	Reads, Writes, Deletes ThrottleRate
	SubscriptionFactor     int
}

// ThrottleRate is the number of requests allowed at once, and per second in the long run.
type ThrottleRate struct{ Bucket, PerSecond int }

// SubscriptionThrottle are the limits of one subscription.
type SubscriptionThrottle struct {
	ID string
	ThrottleLimits
}

func (t *Throttle) rows(r *files.Reader, auth *Auth) *setting.Setting {
	ids := r.Unique("the throttled subscription")
	return setting.Mapping("throttle", "Limits of the requests of each caller to each subscription, and of each caller at its tenant: `bucket` "+
		"requests at once, and `perSecond` in the long run. Further requests are answered with 429 and an accurate Retry-After. Live replicas "+
		"share the limits.",
		append(t.ThrottleLimits.rows(ThrottleLimits{ThrottleRate{250, 25}, ThrottleRate{200, 10}, ThrottleRate{200, 10}, 15}, false),
			setting.Value("enabled", &t.Enabled, rule.Bool(), false, "Whether requests are limited.").
				Default("`true`; `false` if `auth.mode` is `none` and there is no `throttle`"),
			setting.Mappings("subscriptions", "Subscriptions with their own limits.", (*SubscriptionThrottle).rows,
				func(o *setting.Object, s SubscriptionThrottle) {
					if id := o.Valid("id"); id != nil && ids.Add(id, s.ID, s.ID) {
						t.Subscriptions = append(t.Subscriptions, s)
					}
				}).Default("none"),
		)...,
	).Check(func(o *setting.Object) {
		if o.Get("enabled") == nil {
			t.Enabled = auth.Mode != AuthNone || o.Parent.Get("throttle") != nil
		}
		for i := range t.Subscriptions {
			t.Subscriptions[i].inheritFrom(t.ThrottleLimits)
		}
	})
}

func (s *SubscriptionThrottle) rows() []*setting.Setting {
	return append([]*setting.Setting{setting.Required("id", &s.ID, rule.GUID(), "The subscription's id.")}, s.ThrottleLimits.rows(ThrottleLimits{}, true)...)
}

// rows returns the settings of the limits. If inherited is set, absent limits default to the
// general ones.
func (l *ThrottleLimits) rows(initial ThrottleLimits, inherited bool) []*setting.Setting {
	value := func(key string, at *int, want rule.Rule[int], initial int, doc string) *setting.Setting {
		s := setting.Value(key, at, want, initial, doc)
		if inherited {
			s.Default("as for all subscriptions")
		}
		return s
	}
	rate := func(key, doc string, r *ThrottleRate, initial ThrottleRate) *setting.Setting {
		return setting.Mapping(key, doc,
			value("bucket", &r.Bucket, rule.Count(), initial.Bucket, "Number of requests of one caller that may come at once."),
			value("perSecond", &r.PerSecond, rule.Count(), initial.PerSecond, "Number of further requests of one caller per second."),
		)
	}
	return []*setting.Setting{
		rate("reads", "GET and HEAD. A list over several regions counts once per region.", &l.Reads, initial.Reads),
		rate("writes", "PUT, PATCH and POST.", &l.Writes, initial.Writes),
		rate("deletes", "DELETE.", &l.Deletes, initial.Deletes),
		value("subscriptionFactor", &l.SubscriptionFactor, rule.AtLeastTwo(), initial.SubscriptionFactor,
			"The limits of all callers of a subscription together, as a multiple of one caller's. One caller can therefore use up only a part of "+
				"them."),
	}
}

// inheritFrom sets absent limits to those in all.
func (l *ThrottleLimits) inheritFrom(all ThrottleLimits) {
	for _, v := range []struct {
		own *int
		all int
	}{
		{&l.Reads.Bucket, all.Reads.Bucket}, {&l.Reads.PerSecond, all.Reads.PerSecond},
		{&l.Writes.Bucket, all.Writes.Bucket}, {&l.Writes.PerSecond, all.Writes.PerSecond},
		{&l.Deletes.Bucket, all.Deletes.Bucket}, {&l.Deletes.PerSecond, all.Deletes.PerSecond},
		{&l.SubscriptionFactor, all.SubscriptionFactor},
	} {
		if *v.own == 0 {
			*v.own = v.all
		}
	}
}
