package config

import (
	"time"

	"portico/config/rule"
	"portico/config/setting"
)

// Batch limits batches, which are many requests in one.
type Batch struct {
	Immediate   int
	Requests    int // at least Immediate
	AtOnce      int
	Memory      int64 // of one batch; at least Limits.AnswerBody
	TotalMemory int64 // of all batches together; at least Memory
	PerCaller   int
	Stored      int64 // of one caller; at least RequestBody and AnswerBody of Limits together
	TotalStored int64 // of all callers together; at least Stored
	AnswersKept time.Duration
}

func (b *Batch) rows(limits *Limits) *setting.Setting {
	return setting.Mapping("batch", "Many requests in one, `POST /batch`.",
		setting.Value("immediate", &b.Immediate, rule.Count(), 20,
			"Up to how many are answered at once. More become an operation that the client polls."),
		setting.Value("requests", &b.Requests, rule.Count(), 500, "How many there may be in one."),
		setting.Value("atOnce", &b.AtOnce, rule.Count(), 8, "How many requests of one batch run at a time."),
		setting.Value("memory", &b.Memory, rule.Size(), 64<<20,
			"How much the answers in one batch take together, or those that one what-if reads, or one deployment needs at a time. It must be at "+
				"least `limits.answerBody`.").RestartOnly(),
		setting.Value("totalMemory", &b.TotalMemory, rule.Size(), 256<<20,
			"How much the answers in all batches, what-ifs and deployments take together. It must be at least `batch.memory`.").RestartOnly(),
		setting.Value("perCaller", &b.PerCaller, rule.Count(), 16,
			"How many batches that are polled one caller may have under way; then 429."),
		setting.Value("stored", &b.Stored, rule.Size(), 256<<20,
			"How many bytes the store keeps for one caller's polled batches, contents and answers together; then 429. It must be at least "+
				"`limits.requestBody` and `limits.answerBody` together."),
		setting.Value("totalStored", &b.TotalStored, rule.Size(), 2<<30,
			"The same for all callers together. It must be at least `batch.stored`."),
		setting.Value("answersKept", &b.AnswersKept, rule.PositiveDuration(), time.Hour,
			"How long the answers of a polled batch can be fetched after its end. Once they were fetched they are kept for 5 more minutes at most."),
	).Check(func(o *setting.Object) { b.check(o, limits) })
}

func (b *Batch) check(o *setting.Object, limits *Limits) {
	if b.Stored < limits.AnswerBody+limits.RequestBody {
		o.Fault(o.At("stored"), "batch.stored is less than limits.requestBody and limits.answerBody together: no batch would fit", "at least both")
	}
	if b.TotalStored < b.Stored {
		o.Fault(o.At("totalStored", "stored"), "batch.totalStored is less than batch.stored: a caller could not have what it may", "at least batch.stored")
	}
	if b.Memory < limits.AnswerBody {
		o.Fault(o.At("memory"), "batch.memory is less than limits.answerBody: no answer would fit", "at least limits.answerBody")
	}
	if b.TotalMemory < b.Memory {
		o.Fault(o.At("totalMemory", "memory"), "batch.totalMemory is less than batch.memory: a batch could not have what it may", "at least batch.memory")
	} else {
		limits.checkShare(o.Parent.Below("limits"), o, budget{"totalMemory", b.TotalMemory}, budget{"memory", b.Memory})
	}
	if b.Requests < b.Immediate {
		o.Fault(o.At("requests"), "batch.requests is less than batch.immediate", "at least batch.immediate")
	}
}
