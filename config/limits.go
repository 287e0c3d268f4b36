package config

import (
	"fmt"
	"math"

	"portico/arm"
	"portico/config/rule"
	"portico/config/setting"
)

// Limits limits what clients and providers send, and how many resources and other things may exist.
type Limits struct {
	RequestBody   int64
	ContentMemory int64 // at least RequestBody
	// CallerShare is the fraction of each shared budget that one caller may use, above 0 and up to
	// 1.
	CallerShare               float64
	AnswerBody                int64
	TagsPerResource           int
	ResourcesPerTypeAndGroup  int
	GroupsPerSubscription     int
	LocksPerSubscription      int
	TagNamesPerSubscription   int
	TombstonesPerSubscription int

	RoleAssignmentsPerSubscription, RoleAssignmentsPerTenant, RoleDefinitionsPerTenant int
}

// ShareOf returns one caller's share of a budget, at least 1.
func (l Limits) ShareOf(budget int64) int64 {
	return max(1, int64(math.Round(float64(budget)*l.CallerShare)))
}

func (l *Limits) rows() *setting.Setting {
	return setting.Mapping("limits", "Bounds on what clients and providers send, and on what there may be.",
		setting.Value("requestBody", &l.RequestBody, rule.Size(), 4<<20,
			"The largest body of a request; a larger one is answered with 413. What a body holds is counted before it is read, so that it takes little "+
				"more memory than its size."),
		setting.Value("contentMemory", &l.ContentMemory, rule.Size(), 128<<20,
			"What the bodies of all requests that are being answered may hold together; at least `limits.requestBody`. A request that finds no "+
				"room is answered with 503.").RestartOnly(),
		setting.Value("callerShare", &l.CallerShare, rule.PositivePercentage(), 0.25,
			"The part that one caller may hold of each budget that callers share: `limits.contentMemory`, `lists.totalMemory`, `batch.totalMemory`, "+
				"`upstream.readsPerEndpoint`, `upstream.callsPerEndpoint`, `upstream.queuedPerEndpoint`, `deployments.running`. What a caller asks for "+
				"beyond it waits for a moment, then it is answered with 429. One body, list or batch as large as it may be has to fit a share. The "+
				"gateway's own work has a share like any caller.").RestartOnly(),
		setting.Value("answerBody", &l.AnswerBody, rule.Size(), 8<<20,
			"The largest answer of a provider; a larger one becomes an error of the gateway.").RestartOnly(),
		setting.Value("tagsPerResource", &l.TagsPerResource, rule.CountTo(arm.MaxTags), 50,
			"The most tags on one resource or group."),
		setting.Value("resourcesPerTypeAndGroup", &l.ResourcesPerTypeAndGroup, rule.Count(), 800,
			"The most resources of one type in one group.").RestartOnly(),
		setting.Value("groupsPerSubscription", &l.GroupsPerSubscription, rule.Count(), 980,
			"The most groups in one subscription.").RestartOnly(),
		setting.Value("locksPerSubscription", &l.LocksPerSubscription, rule.Count(), 5000,
			"The most locks in one subscription, beside the 20 that a scope may have.").RestartOnly(),
		setting.Value("tagNamesPerSubscription", &l.TagNamesPerSubscription, rule.Count(), 10000,
			"How many names and values of tags may be defined ahead of their use in one subscription, both counted.").RestartOnly(),
		setting.Value("roleAssignmentsPerSubscription", &l.RoleAssignmentsPerSubscription, rule.Count(), 4000,
			"The most role assignments in one subscription.").RestartOnly(),
		setting.Value("roleAssignmentsPerTenant", &l.RoleAssignmentsPerTenant, rule.Count(), 500,
			"The most role assignments for all of one tenant, whose scope is `/`.").RestartOnly(),
		setting.Value("roleDefinitionsPerTenant", &l.RoleDefinitionsPerTenant, rule.Count(), 5000,
			"The most custom roles of one tenant.").RestartOnly(),
		setting.Value("tombstonesPerSubscription", &l.TombstonesPerSubscription, rule.Count(), 200000,
			"How many removed resources of one subscription are remembered at a time, each for `index.tombstones`. From then on writes of resources there "+
				"are answered with 429, and not sent, until older ones are forgotten."),
	).Check(func(o *setting.Object) {
		if l.ContentMemory < l.RequestBody {
			o.Fault(o.At("contentMemory", "requestBody"), "limits.contentMemory is less than limits.requestBody: a request could not have the body that it may",
				"at least limits.requestBody")
			return
		}
		l.checkShare(o, o, budget{"contentMemory", l.ContentMemory}, budget{"requestBody", l.RequestBody})
	})
}

// budget is a setting in bytes.
type budget struct {
	key   string
	bytes int64
}

// checkShare reports a fault if a single item of the maximum size does not fit one caller's share
// of all. The fault is at whichever key of o is given first, or else at callerShare.
func (l *Limits) checkShare(limits, o *setting.Object, all, one budget) {
	share := l.ShareOf(all.bytes)
	if share >= one.bytes {
		return
	}
	at := o.At(all.key, one.key)
	if at == o.Node {
		at = limits.At("callerShare")
	}
	least := int64(math.Ceil(float64(one.bytes) / l.CallerShare))
	o.Fault(at, fmt.Sprintf("one caller's share of %s.%s, %.0f%% by limits.callerShare, is %s, less than %s.%s, which is %s: not even one would fit",
		o.Path, all.key, 100*l.CallerShare, setting.Bytes(share), o.Path, one.key, setting.Bytes(one.bytes)),
		fmt.Sprintf("%s.%s of at least %s, or a larger limits.callerShare", o.Path, all.key, setting.Bytes(least)))
}
