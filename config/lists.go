package config

import (
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/regions"
)

// Lists configures lists over several regions.
type Lists struct {
	Memory          int64 // of one request; at least Limits.AnswerBody
	TotalMemory     int64 // of all requests together; at least Memory
	OnRegionFailure regions.RegionFailure
	TokenKeys       []Key // the first encrypts, all decrypt; may be empty
	TokenLifetime   time.Duration
}

func (x *Lists) rows(r *files.Reader, limits *Limits) *setting.Setting {
	return setting.Mapping("lists", "Lists over several regions.",
		setting.Value("memory", &x.Memory, rule.Size(), 32<<20,
			"Memory for the regions' pages of one request. At least `limits.answerBody`.").RestartOnly(),
		setting.Value("totalMemory", &x.TotalMemory, rule.Size(), 256<<20,
			"The same for all requests together. At least `lists.memory`. If it is used up, lists are answered with 503.").RestartOnly(),
		setting.Value("onRegionFailure", &x.OnRegionFailure, rule.Enum(regions.RegionFailures()), regions.Fail,
			"What happens to a list if a region fails. `fail`: the list fails. `partial`: it is answered without that region, and names it."),
		keyRows(r, "tokenKeys", &x.TokenKeys, "lists.tokenKeys.id",
			"Keys that encrypt skip tokens. The first encrypts, all decrypt. To change keys, on all gateways at each step, append the new key, "+
				"then move it to the front, then remove the old one once `lists.tokenLifetime` has passed.",
			"The name of the key, which is part of every token that it encrypts.").Default("a generated key in the store"),
		setting.Value("tokenLifetime", &x.TokenLifetime, rule.PositiveDuration(), time.Hour,
			"Maximum time from a page to the request for the next one. Later requests are answered with 410."),
	).Check(func(o *setting.Object) {
		if x.Memory < limits.AnswerBody {
			o.Fault(o.At("memory"), "lists.memory is less than limits.answerBody: no region's page would fit", "at least limits.answerBody")
		}
		if x.TotalMemory < x.Memory {
			o.Fault(o.At("totalMemory", "memory"), "lists.totalMemory is less than lists.memory: no list could use all of lists.memory", "at least lists.memory")
			return
		}
		limits.checkShare(o.Parent.Child("limits"), o, budget{"totalMemory", x.TotalMemory}, budget{"memory", x.Memory})
	})
}
