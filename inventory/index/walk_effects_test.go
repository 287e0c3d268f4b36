package index

import "slices"

// effect is what a provider may do with a write.
type effect struct {
	holding holding
	answer  answerIs
	running bool
}

var (
	conflictWith = func(h holding) []effect { return []effect{{h, refused409, false}} }
	// A provider may also take an update that the delete under way will undo.
	updateOfLeaving = []effect{{leaving, refused409, false}, {leaving, succeeded, false}}
	updateOfDoomed  = []effect{{doomed, refused409, false}, {doomed, succeeded, false}}

	// What is not there yet, a provider may say to have deleted.
	deleteOfHidden = []effect{{hidden, refused409, false}, {hidden, goneAnswer, false}}

	synchronous = map[WriteKind][3][]effect{
		Put:    {nothingThere: {{there, succeeded, false}}, there: {{there, succeeded, false}}, failedThere: {{there, succeeded, false}}},
		Delete: {nothingThere: {{nothingThere, goneAnswer, false}}, there: {{nothingThere, goneAnswer, false}}, failedThere: {{nothingThere, goneAnswer, false}}},
		Patch:  {nothingThere: {{nothingThere, refused400, false}}, there: {{there, succeeded, false}}, failedThere: {{there, succeeded, false}}},
	}
	asynchronous = map[WriteKind][3][]effect{
		Put: {
			nothingThere: {{there, succeeded, false}, {hidden, accepted202, true}, {working, unfinished, true}},
			there:        {{there, succeeded, false}, {working, accepted202, true}},
			failedThere:  {{there, succeeded, false}},
		},
		Delete: {
			nothingThere: {{nothingThere, goneAnswer, false}},
			there:        {{nothingThere, goneAnswer, false}, {leaving, accepted202, true}, {doomed, accepted202, true}},
			failedThere:  {{nothingThere, goneAnswer, false}},
		},
		Patch: {
			nothingThere: {{nothingThere, refused400, false}},
			there:        {{there, succeeded, false}, {working, accepted202, true}, {working, unfinished, true}, {updating, accepted202, true}},
			failedThere:  {{there, succeeded, false}},
		},
	}
)

// withoutResource are what a provider may do beside, when something on the way takes the
// text of its answer, or it has none.
var withoutResource = map[WriteKind][3][]effect{
	Put: {
		nothingThere: {{there, unread, false}, {hidden, unread, true}, {working, unread, true}},
		there:        {{there, unread, false}, {working, unread, true}},
	},
	Patch: {there: {{there, unread, false}, {working, unread, true}}},
}

// effects: while an operation runs that it shows, a provider refuses everything else.
func (m *model) effects(h holding, kind WriteKind) []effect {
	switch {
	case h == leaving && kind != Delete:
		return updateOfLeaving
	case h == doomed && kind != Delete:
		return updateOfDoomed
	case h == hidden && kind == Delete:
		return deleteOfHidden
	case h > failedThere:
		return conflictWith(h)
	case m.unread:
		return slices.Concat(asynchronous[kind][h], withoutResource[kind][h])
	case m.async:
		return asynchronous[kind][h]
	}
	return synchronous[kind][h]
}
