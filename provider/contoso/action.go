package contoso

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
)

// action is a POST below a resource.
type action struct {
	name  string
	async bool // even if the client does not request it
	tests bool // a child of the resource shows the latest run
	run   func(*resource) result
}

func machineActions() []action {
	return []action{
		{name: "start", run: func(*resource) result {
			return result{Status: http.StatusOK, Body: encode(map[string]string{"status": "started"})}
		}},
		{name: "listKeys", run: listKeys},
		{name: "restart", async: true, run: func(*resource) result { return result{Status: http.StatusNoContent} }},
		{name: "runTests", async: true, tests: true, run: runTests},
	}
}

type accessKey struct {
	KeyName string `json:"keyName"`
	Value   string `json:"value"`
}

// listKeys returns the resource's keys, which are the same at every call.
func listKeys(r *resource) result {
	keys := []accessKey{}
	for _, name := range []string{"primary", "secondary"} {
		sum := sha256.Sum256([]byte(name + "\n" + r.key()))
		keys = append(keys, accessKey{name, base64.StdEncoding.EncodeToString(sum[:])})
	}
	return result{Status: http.StatusOK, Body: encode(map[string]any{"keys": keys})}
}

// runAction handles POST {resource}/{action}.
func (p *Provider) runAction(c *call) (answer, error) {
	on, ok := c.address.instanceAbove()
	if !ok {
		return answer{}, notFound("NotFound", "There is nothing at this path.")
	}
	t, err := p.served(on)
	if err != nil {
		return answer{}, err
	}
	do, ok := t.action(c.address.tail())
	if t.free {
		do, ok = action{run: listAnything}, true
	}
	if !ok && p.breaks[actionUnknown200] {
		return jsonAnswer(http.StatusOK, object{}), nil
	}
	if !ok {
		return answer{}, notFound("ActionNotFound", "The resource type '%s' has no action '%s'.", t.name(), c.address.tail())
	}
	return p.transact(func(x *tx) (answer, error) {
		if err := x.mayWrite(c, t); err != nil {
			return answer{}, err
		}
		r, err := x.findResource(on, t)
		if err != nil {
			return answer{}, err
		}
		if beingDeleted(r) {
			return answer{}, fail(http.StatusConflict, "ResourceBeingDeleted", "The resource '%s' is being deleted.", r.ID)
		}
		done := do.run(r)
		if c.order.mode == modeSynchronous && do.async {
			c.order.mode = modeLocation
		}
		if c.order.mode == modeSynchronous {
			if c.order.outcome != stateSucceeded {
				return answer{}, outcomeFailure(c.order.outcome)
			}
			if p.breaks[repeatedPost500] && p.met.again("action "+c.uri) {
				return answer{}, errBroken
			}
			return done.answer(), nil
		}
		o, links, err := p.beginOperation(c, x, actionOperation, "Running", on)
		if err != nil {
			return answer{}, err
		}
		o.Result = &done
		if do.tests {
			if err := x.showRun(o, c, r); err != nil {
				return answer{}, err
			}
		}
		return answer{status: http.StatusAccepted, header: links}, nil
	})
}
