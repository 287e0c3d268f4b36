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
	return setting.Mapping("limits", "Limits of what clients and providers send, and of what may exist.",
		setting.Value("requestBody", &l.RequestBody, rule.Size(), 4<<20,
			"Largest body of a request. A larger one is answered with 413. The values in a body are counted before it is decoded, so that it "+
				"takes little more memory than its size."),
		setting.Value("contentMemory", &l.ContentMemory, rule.Size(), 128<<20,
			"Memory for the bodies of all requests in progress. At least `limits.requestBody`. If it is used up, requests are answered with 503.").RestartOnly(),
		setting.Value("callerShare", &l.CallerShare, rule.PositivePercentage(), 0.25,
			"Fraction that one caller may use of each shared budget: `limits.contentMemory`, `lists.totalMemory`, `batch.totalMemory`, "+
				"`upstream.readsPerEndpoint`, `upstream.callsPerEndpoint`, `upstream.queuedPerEndpoint`, `deployments.running`. A request beyond "+
				"it waits for a moment, and is then answered with 429. One body, list or batch of the maximum size must fit the share. The "+
				"gateway's own work has a share like any caller.").RestartOnly(),
		setting.Value("answerBody", &l.AnswerBody, rule.Size(), 8<<20,
			"Largest answer of a provider. A larger one becomes an error of the gateway.").RestartOnly(),
		setting.Value("tagsPerResource", &l.TagsPerResource, rule.CountTo(arm.MaxTags), 50,
			"Maximum number of tags on a resource or group."),
		setting.Value("resourcesPerTypeAndGroup", &l.ResourcesPerTypeAndGroup, rule.Count(), 800,
			"Maximum number of resources of one type in a group.").RestartOnly(),
		setting.Value("groupsPerSubscription", &l.GroupsPerSubscription, rule.Count(), 980,
			"Maximum number of groups in a subscription.").RestartOnly(),
		setting.Value("locksPerSubscription", &l.LocksPerSubscription, rule.Count(), 5000,
			"Maximum number of locks in a subscription. A scope may have at most 20.").RestartOnly(),
		setting.Value("tagNamesPerSubscription", &l.TagNamesPerSubscription, rule.Count(), 10000,
			"Maximum number of names and values of tags in a subscription, counted together, that are defined in advance.").RestartOnly(),
		setting.Value("roleAssignmentsPerSubscription", &l.RoleAssignmentsPerSubscription, rule.Count(), 4000,
			"Maximum number of role assignments in a subscription.").RestartOnly(),
		setting.Value("roleAssignmentsPerTenant", &l.RoleAssignmentsPerTenant, rule.Count(), 500,
			"Maximum number of role assignments with scope `/` in a tenant.").RestartOnly(),
		setting.Value("roleDefinitionsPerTenant", &l.RoleDefinitionsPerTenant, rule.Count(), 5000,
			"Maximum number of custom roles in a tenant.").RestartOnly(),
		setting.Value("tombstonesPerSubscription", &l.TombstonesPerSubscription, rule.Count(), 200000,
			"Maximum number of deleted resources that are remembered per subscription, each for `index.tombstones`. Beyond it, writes of "+
				"resources in the subscription are not sent, and answered with 429, until older ones are forgotten."),
	).Check(func(o *setting.Object) {
		if l.ContentMemory < l.RequestBody {
			o.Fault(o.At("contentMemory", "requestBody"), "limits.contentMemory is less than limits.requestBody: the largest allowed body would not fit",
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
