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
	return setting.Mapping("batch", "Batches of requests, `POST /batch`.",
		setting.Value("immediate", &b.Immediate, rule.Count(), 20,
			"Largest batch that is answered synchronously. A larger one becomes an operation that the client polls."),
		setting.Value("requests", &b.Requests, rule.Count(), 500, "Maximum number of requests in a batch."),
		setting.Value("atOnce", &b.AtOnce, rule.Count(), 8, "Number of requests of a batch that run concurrently."),
		setting.Value("memory", &b.Memory, rule.Size(), 64<<20,
			"Memory for the answers in one batch, for those that a what-if reads, or for those that a deployment needs at a time. At least "+
				"`limits.answerBody`.").RestartOnly(),
		setting.Value("totalMemory", &b.TotalMemory, rule.Size(), 256<<20,
			"Memory for the answers in all batches, what-ifs and deployments together. At least `batch.memory`.").RestartOnly(),
		setting.Value("perCaller", &b.PerCaller, rule.Count(), 16,
			"Maximum number of unfinished polled batches of one caller. Further ones are answered with 429."),
		setting.Value("stored", &b.Stored, rule.Size(), 256<<20,
			"Bytes in the store for the contents and answers of one caller's polled batches. Batches that exceed it are answered with 429. At "+
				"least the sum of `limits.requestBody` and `limits.answerBody`."),
		setting.Value("totalStored", &b.TotalStored, rule.Size(), 2<<30,
			"The same for all callers together. At least `batch.stored`."),
		setting.Value("answersKept", &b.AnswersKept, rule.PositiveDuration(), time.Hour,
			"How long after its end the answers of a polled batch can be fetched. Once fetched, they are kept for at most 5 more minutes."),
	).Check(func(o *setting.Object) { b.check(o, limits) })
}

func (b *Batch) check(o *setting.Object, limits *Limits) {
	if b.Stored < limits.AnswerBody+limits.RequestBody {
		o.Fault(o.At("stored"), "batch.stored is less than limits.requestBody and limits.answerBody together: no batch would fit", "at least both")
	}
	if b.TotalStored < b.Stored {
		o.Fault(o.At("totalStored", "stored"), "batch.totalStored is less than batch.stored: no caller could use all of batch.stored", "at least batch.stored")
	}
	if b.Memory < limits.AnswerBody {
		o.Fault(o.At("memory"), "batch.memory is less than limits.answerBody: no answer would fit", "at least limits.answerBody")
	}
	if b.TotalMemory < b.Memory {
		o.Fault(o.At("totalMemory", "memory"), "batch.totalMemory is less than batch.memory: no batch could use all of batch.memory", "at least batch.memory")
	} else {
		limits.checkShare(o.Parent.Child("limits"), o, budget{"totalMemory", b.TotalMemory}, budget{"memory", b.Memory})
	}
	if b.Requests < b.Immediate {
		o.Fault(o.At("requests"), "batch.requests is less than batch.immediate", "at least batch.immediate")
	}
}
