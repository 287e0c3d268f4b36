package contoso

import "net/http"

// refusedMove returns the answer to a refused move, after carrying out a part
// of it if a break selects that.
func (t *tx) refusedMove(o *moveOrder, refusal error) (answer, error) {
	switch {
	case t.breaks[moveRefusedHalf]:
		first := *o
		first.IDs = o.IDs[:1]
		return failed(refusal), t.relocate(&first)
	case t.breaks[moveAgainLoses]:
		for _, id := range o.IDs {
			t.dropResource(fold(o.placeOf(id)))
		}
		return failed(refusal), nil
	}
	return answer{}, refusal
}

// moved returns the answer to a completed move.
func (b breaks) moved(o *moveOrder) answer {
	if b[moveAnswersBody] {
		return jsonAnswer(http.StatusOK, map[string]any{"value": o.IDs})
	}
	return emptyAnswer(http.StatusOK)
}
