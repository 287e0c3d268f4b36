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
	return setting.Mapping("lists", "How collections of several regions are answered.",
		setting.Value("memory", &x.Memory, rule.Size(), 32<<20,
			"What one request may hold for pages of several regions; at least `limits.answerBody`.").RestartOnly(),
		setting.Value("totalMemory", &x.TotalMemory, rule.Size(), 256<<20,
			"The same for all requests together; at least `lists.memory`. A list that finds none is answered with 503.").RestartOnly(),
		setting.Value("onRegionFailure", &x.OnRegionFailure, rule.Enum(regions.RegionFailures()), regions.Fail,
			"What becomes of a list when a region fails. `fail`: it fails as a whole. `partial`: it goes out without that region, and says so."),
		keyRows(r, "tokenKeys", &x.TokenKeys, "lists.tokenKeys.id",
			"The keys of skip tokens: the first seals, all open. To change keys under way add the new one last, then move it to the front, "+
				"then drop the old one once `lists.tokenLifetime` has passed; each on all gateways.",
			"The name of the key; part of every token that it seals.").Default("one that is generated and kept in the store"),
		setting.Value("tokenLifetime", &x.TokenLifetime, rule.PositiveDuration(), time.Hour,
			"From a page to the request for the next one; later ones are answered with 410."),
	).Check(func(o *setting.Object) {
		if x.Memory < limits.AnswerBody {
			o.Fault(o.At("memory"), "lists.memory is less than limits.answerBody: no region's page would fit", "at least limits.answerBody")
		}
		if x.TotalMemory < x.Memory {
			o.Fault(o.At("totalMemory", "memory"), "lists.totalMemory is less than lists.memory: a list could not have what it may", "at least lists.memory")
			return
		}
		limits.checkShare(o.Parent.Below("limits"), o, budget{"totalMemory", x.TotalMemory}, budget{"memory", x.Memory})
	})
}
